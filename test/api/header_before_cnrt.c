/* The public headers are valid C99 before the header of the accelerator's runtime. */
#include "mlu_op_omp.h"
/* The runtime's header is included last. */
#include <cnrt.h>

mluOpStatus_t set_queue_before_cnrt(mluOpHandle_t handle, struct testQueue* queue);
mluOpStatus_t set_queue_before_cnrt(mluOpHandle_t handle, struct testQueue* queue) {
  return mluOpSetQueue(handle, queue);
}

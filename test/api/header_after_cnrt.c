/* The public headers are valid C99 after the header of the accelerator's runtime. */
#include <cnrt.h>

#include "mlu_op_omp.h"

mluOpStatus_t set_queue_after_cnrt(mluOpHandle_t handle, struct testQueue* queue);
mluOpStatus_t set_queue_after_cnrt(mluOpHandle_t handle, struct testQueue* queue) {
  return mluOpSetQueue(handle, queue);
}

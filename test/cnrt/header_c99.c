/* mlu_op.h brings cnrt.h, and both are valid C99. */
#include <cn_api.h>

#include "mlu_op.h"

cnrtRet_t create_queue_of(mluOpHandle_t handle);
cnrtRet_t create_queue_of(mluOpHandle_t handle) {
  cnrtQueue_t queue = NULL;
  cnrtRet_t created = cnrtQueueCreate(&queue);
  CNRT_CHECK(created);
  return mluOpSetQueue(handle, queue) == MLUOP_STATUS_SUCCESS ? cnrtSuccess : cnrtErrorArgsInvalid;
}

/*
 * mlu_op_omp.h: functions of mluop-omp beyond the MLU-OPS API. Valid C99 and C++17.
 */
#ifndef MLU_OP_OMP_H_
#define MLU_OP_OMP_H_

#include "mlu_op.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* The text of the calling thread's last failed call, such as
 *   "[mluOpVoxelPoolingForward] geom_xyz dim 2 is 4, expected 3";
 * "" if none has failed. Successful calls do not clear it. At most 1023 characters; never null; valid until the
 * thread's next failed call or its end. */
const char* MLUOP_WIN_API mluOpOmpGetLastError(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_OMP_H_ */

// The public headers are valid C++17. The values are those of MLU-OPS, so programs compiled with its header are
// compatible.
#include <type_traits>

#include "mlu_op_omp.h"

static_assert(std::is_pointer_v<mluOpHandle_t> && std::is_pointer_v<mluOpTensorDescriptor_t> &&
              std::is_pointer_v<cnrtQueue_t>);
static_assert(MLUOP_DIM_MAX == 8);
static_assert(MLUOP_MAJOR == 1 && MLUOP_MINOR == 11 && MLUOP_PATCHLEVEL == 1);
static_assert(MLUOP_VERSION == 2101);

static_assert(MLUOP_STATUS_SUCCESS == 0);
static_assert(MLUOP_STATUS_NOT_INITIALIZED == 1);
static_assert(MLUOP_STATUS_ALLOC_FAILED == 2);
static_assert(MLUOP_STATUS_BAD_PARAM == 3);
static_assert(MLUOP_STATUS_INTERNAL_ERROR == 4);
static_assert(MLUOP_STATUS_ARCH_MISMATCH == 5);
static_assert(MLUOP_STATUS_EXECUTION_FAILED == 6);
static_assert(MLUOP_STATUS_NOT_SUPPORTED == 7);
static_assert(MLUOP_STATUS_NUMERICAL_OVERFLOW == 8);

static_assert(MLUOP_LAYOUT_NCHW == 0);
static_assert(MLUOP_LAYOUT_NHWC == 1);
static_assert(MLUOP_LAYOUT_HWCN == 2);
static_assert(MLUOP_LAYOUT_NDHWC == 3);
static_assert(MLUOP_LAYOUT_ARRAY == 4);
static_assert(MLUOP_LAYOUT_NCDHW == 5);
static_assert(MLUOP_LAYOUT_TNC == 6);
static_assert(MLUOP_LAYOUT_NTC == 7);
static_assert(MLUOP_LAYOUT_NC == 8);
static_assert(MLUOP_LAYOUT_NLC == 9);
static_assert(MLUOP_LAYOUT_NCL == 10);

static_assert(MLUOP_DTYPE_INVALID == 0);
static_assert(MLUOP_DTYPE_HALF == 1);
static_assert(MLUOP_DTYPE_FLOAT == 2);
static_assert(MLUOP_DTYPE_INT8 == 3);
static_assert(MLUOP_DTYPE_INT16 == 4);
static_assert(MLUOP_DTYPE_INT31 == 5);
static_assert(MLUOP_DTYPE_INT32 == 6);
static_assert(MLUOP_DTYPE_UINT8 == 7);
static_assert(MLUOP_DTYPE_BOOL == 8);
static_assert(MLUOP_DTYPE_INT64 == 9);
static_assert(MLUOP_DTYPE_UINT32 == 11);
static_assert(MLUOP_DTYPE_UINT64 == 12);
static_assert(MLUOP_DTYPE_UINT16 == 13);
static_assert(MLUOP_DTYPE_DOUBLE == 14);
static_assert(MLUOP_DTYPE_COMPLEX_HALF == 15);
static_assert(MLUOP_DTYPE_COMPLEX_FLOAT == 16);
static_assert(MLUOP_DTYPE_BFLOAT16 == 17);

static_assert(MLUOP_REDUCE_DSUM == 0);
static_assert(MLUOP_REDUCE_DMEAN == 1);
static_assert(MLUOP_REDUCE_DMAX == 2);
static_assert(MLUOP_REDUCEMODE_SUM == 0);
static_assert(MLUOP_REDUCEMODE_MEAN == 1);
static_assert(MLUOP_REDUCEMODE_MAX == 2);

static_assert(MLUOP_ATOMICS_NOT_ALLOWED == 1);
static_assert(MLUOP_ATOMICS_ALLOWED == 2);

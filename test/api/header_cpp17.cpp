// The public headers are valid C++17. The enumerators have the values of MLU-OPS, so programs compiled with its
// header are compatible.
#include <initializer_list>
#include <type_traits>

#include "mlu_op_omp.h"

static_assert(std::is_pointer_v<mluOpHandle_t> && std::is_pointer_v<mluOpTensorDescriptor_t> &&
              std::is_pointer_v<cnrtQueue_t>);
static_assert(MLUOP_DIM_MAX == 8);
static_assert(MLUOP_MAJOR == 1 && MLUOP_MINOR == 11 && MLUOP_PATCHLEVEL == 1);
static_assert(MLUOP_VERSION == 2101);

// Whether the values are first, first + 1, and so on.
constexpr bool count_from(int first, std::initializer_list<int> values) {
  for (const int value : values) {
    if (value != first++) return false;
  }
  return true;
}

static_assert(count_from(0, {MLUOP_STATUS_SUCCESS, MLUOP_STATUS_NOT_INITIALIZED, MLUOP_STATUS_ALLOC_FAILED,
                             MLUOP_STATUS_BAD_PARAM, MLUOP_STATUS_INTERNAL_ERROR, MLUOP_STATUS_ARCH_MISMATCH,
                             MLUOP_STATUS_EXECUTION_FAILED, MLUOP_STATUS_NOT_SUPPORTED,
                             MLUOP_STATUS_NUMERICAL_OVERFLOW}));
static_assert(count_from(0, {MLUOP_LAYOUT_NCHW, MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_HWCN, MLUOP_LAYOUT_NDHWC,
                             MLUOP_LAYOUT_ARRAY, MLUOP_LAYOUT_NCDHW, MLUOP_LAYOUT_TNC, MLUOP_LAYOUT_NTC,
                             MLUOP_LAYOUT_NC, MLUOP_LAYOUT_NLC, MLUOP_LAYOUT_NCL}));
static_assert(count_from(0, {MLUOP_DTYPE_INVALID, MLUOP_DTYPE_HALF, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_INT8,
                             MLUOP_DTYPE_INT16, MLUOP_DTYPE_INT31, MLUOP_DTYPE_INT32, MLUOP_DTYPE_UINT8,
                             MLUOP_DTYPE_BOOL, MLUOP_DTYPE_INT64}));
static_assert(count_from(11, {MLUOP_DTYPE_UINT32, MLUOP_DTYPE_UINT64, MLUOP_DTYPE_UINT16, MLUOP_DTYPE_DOUBLE,
                              MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT, MLUOP_DTYPE_BFLOAT16}));
static_assert(count_from(0, {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}));
static_assert(count_from(0, {MLUOP_REDUCEMODE_SUM, MLUOP_REDUCEMODE_MEAN, MLUOP_REDUCEMODE_MAX}));
static_assert(count_from(1, {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}));

// matmul: the product of two matrices, result = a * b: fp32 sums of elements of any type, each in the order of
// the columns of a.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/simd.h"
#include "mlu_op.h"
#include "team/launch.h"

namespace mluop {

// Lanes of the widest vectors: rows of matrices to which whole vectors are written are a multiple of it.
inline constexpr int64_t kMaxLanes = 16;

// The elements in a lane of 32 bits, whose products one instruction adds. Element: float or BFloat16.
template <class Element>
inline constexpr int64_t kStep = int64_t{sizeof(float) / sizeof(Element)};

// Whether AVX512-BF16 multiplies elements of dtype as they are; else they are multiplied in fp32.
inline bool has_dot_products(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_BFLOAT16 && has_bf16_dot_products();
}

// Returns select(element, multiplied), as dispatch_dtype(): an element, and what it is multiplied as.
template <class Select>
auto dispatch_element(mluOpDataType_t dtype, const Select& select) {
  if (has_dot_products(dtype)) return select(BFloat16{}, BFloat16{});
  return dispatch_dtype(dtype, [&](auto element) { return select(element, float{}); });
}

// Columns of a panel of b, NR of the microkernel. Depends on the instruction set.
int64_t panel_columns();

struct MatmulArgs {
  mluOpDataType_t dtype;  // FLOAT or HALF, of a and b
  int64_t rows, inner, columns;
  const void* a;  // [rows, inner]
  const void* b;  // [inner, columns]
  float* result;  // [rows, columns]
};

// The tile in NRAM: rows of a by kc of its columns, times kc rows of b by some of its columns.
struct MatmulTiling {
  int64_t rows, kc, columns;
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
MatmulTiling matmul_tiling(const Context& context, mluOpDataType_t dtype, int64_t inner, int64_t columns);

// Divides the rows over OMP_NUM_THREADS tasks. Each task loads b once and packs it in panels; if all of b fits, it
// loads its rows of a once and stores those of the result once. Throws what matmul_tiling() throws.
void matmul(Context& context, const MatmulArgs& args);

}  // namespace mluop

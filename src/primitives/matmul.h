// matmul: the product of two matrices, result = a * b: fp32 sums of float or half elements, each in the order of
// the columns of a.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/launch.h"

namespace mluop {

// Lanes of the widest vectors: rows of matrices to which whole vectors are written are a multiple of it.
inline constexpr int64_t kMaxLanes = 16;

// Columns of a panel of b, NR of the microkernel. Depends on the instruction set.
int64_t panel_columns();

struct MatmulArgs {
  int64_t result_stride() const { return (columns + kMaxLanes - 1) / kMaxLanes * kMaxLanes; }

  mluOpDataType_t dtype;  // FLOAT or HALF, of a and b
  int64_t rows, inner, columns;
  const void* a;  // [rows, inner]
  const void* b;  // [inner, columns]
  float* result;  // [rows, result_stride()]; elements past the columns are overwritten
};

// Divides the rows over tasks. Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
void matmul(Context& context, const MatmulArgs& args);

// Throws what matmul() would throw for a product with so many inner elements, before anything is written.
void check_matmul_fits(const Context& context, mluOpDataType_t dtype, int64_t inner);

}  // namespace mluop

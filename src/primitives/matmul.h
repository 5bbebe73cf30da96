// The product of two matrices: result = a * b, fp32 sums of float or half elements, each in the order of a's
// columns.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/launch.h"

namespace mluop {

// Lanes of the widest vectors: matrices that whole vectors are written to have rows of a multiple of these.
inline constexpr int64_t kMaxLanes = 16;

// Columns of b that are multiplied at once: a panel. Depends on the instruction set.
int64_t panel_columns();

struct MatmulArgs {
  int64_t result_stride() const { return (columns + kMaxLanes - 1) / kMaxLanes * kMaxLanes; }

  mluOpDataType_t dtype;  // FLOAT or HALF, of a and b
  int64_t rows, inner, columns;
  const void* a;  // [rows, inner]
  const void* b;  // [inner, columns]
  float* result;  // [rows, result_stride()]; what lies behind the columns is overwritten
};

// Splits the rows over tasks. Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
void matmul(Context& context, const MatmulArgs& args);

}  // namespace mluop

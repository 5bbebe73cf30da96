// matmul: the product of two matrices, result = a * b, for elements of any type. Sums are fp32, each in the order
// of the columns of a.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/launch.h"

namespace mluop {

// Lanes of the widest vectors. Row lengths of matrices written in whole vectors are multiples of it.
inline constexpr int64_t kMaxLanes = 16;

// Columns of a panel of b (NR of the microkernel). Depends on the instruction set.
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
// loads its rows of a once and stores the rows of the result once. Throws what matmul_tiling() throws.
void matmul(Context& context, const MatmulArgs& args);

}  // namespace mluop

// transpose: copies a three-dimensional tensor to contiguous memory, with its dimensions in another order. Each
// task loads a tile into NRAM, transposes it there and stores it.
#pragma once

#include <array>
#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct TransposeArgs {
  std::array<int64_t, 3> dims;     // dimensions of the copy
  std::array<int64_t, 3> strides;  // of the source, in elements, for each dimension of the copy
  int64_t element_bytes;           // 2 or 4
  const void* from;
  void* to;  // [dims]
};

// Divides the rows of the copy (its last dimension) over OMP_NUM_THREADS tasks.
void transpose(Context& context, const TransposeArgs& args);

}  // namespace mluop

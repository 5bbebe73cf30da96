// gather: copies rows of a matrix in the order of their indices. Each task loads a tile of rows into NRAM and
// stores it.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct GatherArgs {
  int64_t count;
  int64_t row_bytes;
  const int32_t* indices;         // [count]
  const int32_t* paired_indices;  // [count]; null if no index is negative
  const void* from;               // rows
  void* to;                       // [count] rows; zeros for a pair with a negative index
};

// Divides the indices over OMP_NUM_THREADS tasks.
void gather(Context& context, const GatherArgs& args);

}  // namespace mluop

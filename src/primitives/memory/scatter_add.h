// scatter_add: adds rows to the rows of a matrix that their indices name. Indices may repeat. Each pair is one
// atomic update of a row; the order of the updates is unspecified.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct ScatterAddArgs {
  int64_t count, columns;
  const int32_t* indices;         // [count]
  const int32_t* paired_indices;  // [count]; null if no index is negative
  const float* rows;              // [count, columns]; the row of a pair with a negative index is skipped
  float* sums;                    // rows of `columns`
};

// Divides the rows over OMP_NUM_THREADS tasks.
void scatter_add(Context& context, const ScatterAddArgs& args);

}  // namespace mluop

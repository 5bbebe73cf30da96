// scatter_add: adds rows to the rows of a matrix that their indices name. Several rows may have one index;
// additions are atomic and their order is unspecified.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct ScatterAddArgs {
  int64_t count, columns;
  const int32_t* indices;         // [count]
  const int32_t* paired_indices;  // [count]; a pair with a negative index is skipped
  const float* rows;              // [count, row_stride]
  int64_t row_stride;
  float* sums;  // rows of `columns`
};

void scatter_add(Context& context, const ScatterAddArgs& args);

}  // namespace mluop

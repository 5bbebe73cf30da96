// Adds rows to the rows of a matrix that their indices name, with atomics: several rows may have one index. The
// order of additions is open.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct ScatterAddArgs {
  int64_t count, columns;
  const int32_t* indices;   // [count]
  const int32_t* partners;  // [count]; where this is negative, or the index, the row is skipped
  const float* rows;        // [count, row_stride]
  int64_t row_stride;
  float* sums;  // rows of `columns`
};

void scatter_add(Context& context, const ScatterAddArgs& args);

}  // namespace mluop

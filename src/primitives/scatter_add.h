// Adds rows to the rows of a matrix that their indices name, with atomics: several rows may have one index. The
// order of additions is open.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct ScatterAddArgs {
  int64_t count, columns;
  const int32_t* indices;  // [count]; the row of a negative index is skipped
  const int32_t* sources;  // [count], and so is that of a negative source: what the row was gathered by
  const float* rows;       // [count, row_stride]
  int64_t row_stride;
  float* sums;  // rows of `columns`
};

void scatter_add(Context& context, const ScatterAddArgs& args);

}  // namespace mluop

// Collects rows of a matrix by their indices.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct GatherArgs {
  int64_t count;
  int64_t row_bytes;
  const int32_t* indices;   // [count]
  const int32_t* partners;  // [count]; where this is negative, or the index, the row is zero
  const void* from;         // rows
  void* to;                 // [count] rows
};

void gather(Context& context, const GatherArgs& args);

}  // namespace mluop

// gather: copies rows of a matrix in the order of their indices.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct GatherArgs {
  int64_t count;
  int64_t row_bytes;
  const int32_t* indices;         // [count]
  const int32_t* paired_indices;  // [count]; a pair with a negative index yields a row of zeros
  const void* from;               // rows
  void* to;                       // [count] rows
};

void gather(Context& context, const GatherArgs& args);

}  // namespace mluop

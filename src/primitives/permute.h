// Copies a tensor of three dimensions to contiguous memory, in another order of its dimensions.
#pragma once

#include <array>
#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct PermuteArgs {
  std::array<int64_t, 3> dims;     // of the copy
  std::array<int64_t, 3> strides;  // elements of the source from one index of such a dimension to the next
  int64_t element_bytes;           // 2 or 4
  const void* from;
  void* to;  // [dims]
};

void permute(Context& context, const PermuteArgs& args);

}  // namespace mluop

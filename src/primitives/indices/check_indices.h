// check_indices: finds the first index out of range. Work is divided as in the native algorithm.
#pragma once

#include <cstdint>

#include "team/atomics.h"
#include "team/launch.h"

namespace mluop {

struct CheckIndicesArgs {
  const int32_t* indices;  // [count]
  int64_t count;
  int64_t limit;
};

// The position of the first index outside [0, limit), if any.
FirstBadItem check_indices(Context& context, const CheckIndicesArgs& args);

}  // namespace mluop

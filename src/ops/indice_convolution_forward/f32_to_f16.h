// Rounds the floats of a matrix to half, to nearest even.
#pragma once

#include <cstdint>

#include "core/half.h"
#include "team/launch.h"

namespace mluop {

struct NarrowArgs {
  int64_t rows, columns;
  const float* from;  // [rows, columns]
  Half* to;           // rows of `columns`, `stride` apart
  int64_t stride;
};

void narrow(Context& context, const NarrowArgs& args);

}  // namespace mluop

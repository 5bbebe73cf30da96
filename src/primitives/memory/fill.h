// fill: writes zeros, in parallel. The device algorithm stores them from a tile in NRAM.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop {

struct FillArgs {
  uint8_t* data;
  bool stream;  // use non-temporal stores
};

void fill_zero(Context& context, void* data, int64_t bytes);

}  // namespace mluop

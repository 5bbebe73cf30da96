// f32_to_f16 of the device algorithms: rounds numbers from fp32 to half, to nearest even. Each task loads a tile
// into NRAM, rounds it there and stores it.
#pragma once

#include <cstdint>

#include "core/half.h"
#include "team/launch.h"

namespace mluop {

struct F32ToF16Args {
  int64_t count;
  const float* from;  // [count]
  Half* to;           // [count]
};

// Divides the numbers over OMP_NUM_THREADS tasks.
void f32_to_f16(Context& context, const F32ToF16Args& args);

}  // namespace mluop

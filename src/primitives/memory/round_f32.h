// round_f32, for device algorithms: rounds fp32 numbers to a 16-bit type, to nearest even. Each task loads a tile
// into NRAM, rounds it there and stores it.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/launch.h"

namespace mluop {

struct RoundF32Args {
  int64_t count;
  const float* from;  // [count]
  void* to;           // [count], in the data type
};

// Divides the numbers over OMP_NUM_THREADS tasks. The launch is f32_to_f16 or f32_to_bf16.
void round_f32(Context& context, mluOpDataType_t dtype, const RoundF32Args& args);

}  // namespace mluop

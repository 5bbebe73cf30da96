// Chamfer distance: the algorithm and the arguments of the forward function.
//
// Letters: B batches. Both sides are treated alike: side 0 is xyz1, side 1 is xyz2.
#pragma once

#include <cstdint>

#include "team/operator_call.h"

namespace mluop::chamfer_distance {

// The arguments of the call, checked. Both sides have points.
struct ForwardArgs {
  int64_t B;
  mluOpDataType_t dtype;
  int64_t counts[2];   // points of each side
  const void* xyz[2];  // [B, counts[side], 2]
  void* dist[2];       // [B, counts[side]]
  int32_t* idx[2];     // [B, counts[side]]
};

namespace native {

// Computes the outputs. Throws before it writes them: Failure with BAD_PARAM if the bytes of a buffer exceed
// int64_t, and std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);

}  // namespace native
}  // namespace mluop::chamfer_distance

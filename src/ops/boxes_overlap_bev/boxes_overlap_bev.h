// Bird's-eye overlap of 3-D boxes: the algorithm and the arguments of a call.
#pragma once

#include <cstdint>

#include "team/operator_call.h"

namespace mluop::boxes_overlap_bev {

// The arguments of the call, checked. A box is x, y, z, dx, dy, dz, yaw.
struct Args {
  int64_t N, M;
  const float* boxes_a;  // [N, 7]
  const float* boxes_b;  // [M, 7]
  float* overlaps;       // [N, M]
};

namespace native {

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::boxes_overlap_bev

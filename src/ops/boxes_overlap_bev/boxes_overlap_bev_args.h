// Bird's-eye overlap of 3-D boxes: the arguments of a call.
#pragma once

#include <cstdint>

namespace mluop::boxes_overlap_bev {

// The arguments of the call, checked. A box is x, y, z, dx, dy, dz, yaw.
struct Args {
  int64_t N, M;
  const float* boxes_a;  // [N, 7]
  const float* boxes_b;  // [M, 7]
  float* overlaps;       // [N, M]
};

}  // namespace mluop::boxes_overlap_bev

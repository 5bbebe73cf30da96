// Bird's-eye overlaps of 3-D boxes by their definition: the serial loop over all pairs, in fp32. The oracle of the
// tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// The area shared by two boxes (x, y, z, dx, dy, dz, yaw), with the operations of mmcv's iou3d in its order. Sine
// and cosine are computed in double and rounded.
float bev_overlap(const float* box_a, const float* box_b);

// overlaps[n, m] = bev_overlap(boxes_a[n], boxes_b[m]). The library must return the same bits.
void boxes_overlap_bev(int64_t N, int64_t M, const float* boxes_a, const float* boxes_b, float* overlaps);

}  // namespace mluop::reference

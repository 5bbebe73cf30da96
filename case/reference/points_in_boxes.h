// Points in 3-D boxes by their definition: the serial loop over points and boxes, in fp32. The oracle of the tests
// and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// The meaning of z of a box (x, y, z, dx, dy, dz, yaw), and the enlargement of its sides.
enum class BoxRule { kMlu, kMmcv };

struct PointsInBoxesSizes {
  int64_t B, M, T;
};

// Performs the operations of the CPU kernels of MLU-OPS and mmcv in their order. Sine and cosine are computed in
// double and rounded.
bool is_in_box(BoxRule rule, const float* point, const float* box);

// indices[b, m] = the first box of the batch that contains the point, or -1.
void points_in_boxes_part(BoxRule rule, const PointsInBoxesSizes& sizes, const float* points, const float* boxes,
                          int32_t* indices);

// is_inside[b, m, t] = whether the box contains the point.
void points_in_boxes_all(BoxRule rule, const PointsInBoxesSizes& sizes, const float* points, const float* boxes,
                         int32_t* is_inside);

}  // namespace mluop::reference

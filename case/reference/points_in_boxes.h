// Points in 3-D boxes by their definition: the serial loop over points and boxes, in fp32. The oracle of the tests
// and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// Where z of a box (x, y, z, dx, dy, dz, yaw) is, and by how much its sides are longer.
enum class BoxRule { kMlu, kMmcv };

struct PointsInBoxesSizes {
  int64_t B, M, T;
};

// The operations and the order of the kernels for CPUs of MLU-OPS and mmcv. Sine and cosine are computed in double
// and rounded.
bool is_in_box(BoxRule rule, const float* point, const float* box);

// indices[b, m] = the first box of the batch that contains the point, or -1.
void points_in_boxes_part(BoxRule rule, const PointsInBoxesSizes& sizes, const float* points, const float* boxes,
                          int32_t* indices);

// is_inside[b, m, t] = whether the box contains the point.
void points_in_boxes_all(BoxRule rule, const PointsInBoxesSizes& sizes, const float* points, const float* boxes,
                         int32_t* is_inside);

}  // namespace mluop::reference

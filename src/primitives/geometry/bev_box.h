// Bird's-eye view of 3-D boxes, and the area shared by two boxes as mmcv's iou3d defines it: in fp32, with a
// margin of 0.01 m around a box when corners of the other box are searched in it.
#pragma once

#include "primitives/geometry/box_bounds.h"

namespace mluop {

// Data shared by the overlaps of a box. An empty box, whose dx or dy is not positive, has a NaN center.
struct BevBox {
  float x, y;                        // the center
  float cosine, sine;                // of yaw
  float reach_u, reach_v;            // half dx and dy, and the margin
  float corners_x[4], corners_y[4];  // in order around the box
};

// box: x, y, z, dx, dy, dz, yaw. z and dz are not read.
BevBox make_bev_box(const float* box);

// Boxes whose bounds do not meet have overlap 0, for any values.
Bounds bounds_of(const BevBox& box);

// The area of the intersection. 0 if a box is empty, has NaN, or an infinite center or yaw; infinite or NaN on
// overflow.
float overlap_of(const BevBox& a, const BevBox& b);

}  // namespace mluop

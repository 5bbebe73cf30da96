// Bird's-eye view of 3-D boxes, and the area that two of them share by the definition of mmcv's iou3d: fp32, and a
// margin of 0.01 m around each box when corners of the other are searched in it.
#pragma once

#include "primitives/geometry/box_bounds.h"

namespace mluop {

// What the overlaps of a box share. The center of an empty box, whose dx or dy is not positive, is NaN.
struct BevBox {
  float x, y;                        // the center
  float cosine, sine;                // of yaw
  float reach_u, reach_v;            // half dx and dy, and the margin
  float corners_x[4], corners_y[4];  // in order around the box
};

// box: x, y, z, dx, dy, dz, yaw. z and dz are not read.
BevBox make_bev_box(const float* box);

// Boxes whose bounds do not meet have overlap 0, whatever their values are.
Bounds bounds_of(const BevBox& box);

// The area of the intersection. 0 if a box is empty, has NaN, or an infinite center or yaw;
// infinite or NaN if it overflows.
float overlap_of(const BevBox& a, const BevBox& b);

}  // namespace mluop

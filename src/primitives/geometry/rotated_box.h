// Rectangles in a plane that are turned: their bounds and the area of their intersection, in double.
#pragma once

#include "primitives/geometry/box_bounds.h"

namespace mluop {

struct RotatedBox {
  // box: x, y, w, h and the angle in radians.
  explicit RotatedBox(const float* box);

  // Boxes that intersect have bounds that meet, also for a computed area. Those of a box that is too small meet no
  // other; those of a box with a number that is NaN or infinite meet all.
  Bounds bounds() const;

  double x, y;
  double half_width, half_height;
  double cosine, sine;
  double area;     // w h, exactly; 0 if w or h is not positive
  bool is_finite;  // all five numbers are
};

// At most the area of either box. Both are finite.
double intersection_area(const RotatedBox& a, const RotatedBox& b);

enum class OverlapMode { kIou, kIof };

// The ious of mluOpBoxIouRotated: intersection over union, and over the area of a.
float overlap(OverlapMode mode, const RotatedBox& a, const RotatedBox& b);

}  // namespace mluop

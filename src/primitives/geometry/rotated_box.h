// Rotated rectangles in a plane: their bounds and the area of their intersection, in double.
#pragma once

#include "primitives/geometry/box_bounds.h"

namespace mluop {

// Boxes with a smaller area overlap no other box.
inline constexpr double kMinBoxArea = 1e-14;

struct RotatedBox {
  static constexpr int kColumns = 5;

  // box: x, y, w, h and the angle in radians.
  explicit RotatedBox(const float* box);

  // Boxes that intersect have bounds that meet, also if only the computed area is positive. The bounds of a box
  // that is too small meet no other; the bounds of a box with a NaN or infinite number meet all.
  Bounds bounds() const;

  double x, y;
  double half_width, half_height;
  double cosine, sine;
  double area;     // w h, exact; 0 if w or h is not positive
  bool is_finite;  // all five numbers are finite
};

// At most the area of either box. Both must be finite.
double intersection_area(const RotatedBox& a, const RotatedBox& b);

enum class OverlapMode { kIou, kIof };

// Intersection over union, or over the area of a, of two boxes with these areas.
inline float overlap_of_areas(OverlapMode mode, double intersection, double area_a, double area_b) {
  return static_cast<float>(intersection / (mode == OverlapMode::kIou ? area_a + area_b - intersection : area_a));
}

// An element of ious in mluOpBoxIouRotated: intersection over union, or over the area of a.
float overlap(OverlapMode mode, const RotatedBox& a, const RotatedBox& b);

}  // namespace mluop

// Quadrilaterals in a plane: their bounds and the area of their intersection, in double.
#pragma once

#include <array>
#include <limits>

#include "primitives/geometry/box_bounds.h"
#include "primitives/geometry/clip.h"
#include "primitives/geometry/rotated_box.h"

namespace mluop {

struct Quadrilateral {
  static constexpr int kColumns = 8;

  // numbers: x1, y1, ..., x4, y4, the corners in either direction.
  explicit Quadrilateral(const float* numbers);

  // As RotatedBox::bounds().
  Bounds bounds() const;

  std::array<Point, 4> corners;  // the signed area is not negative; if one is concave, it is the first
  double area;                   // the absolute value of the signed area; NaN if a number is not finite
  bool is_convex;                // otherwise one corner is concave, or sides cross
  bool is_finite;
};

// The convex parts of a quadrilateral relative to a point: itself, or the triangles on both sides of the
// diagonal from its first corner. Corners are counter-clockwise. The sum of the parts, with their signs, is
// its winding number.
struct ConvexParts {
  ConvexParts(const Quadrilateral& quad, const Point& origin);

  // Clipped by at most four half planes: 4, 6, 9, 13, 19 corners.
  ClippedPolygon<19> parts[2];
  double signs[2];  // -1 for a triangle that was clockwise: sides cross
  int count;
};

// The part of a polygon inside of a convex one.
template <size_t kCapacity>
ClippedPolygon<kCapacity> clip_by(ClippedPolygon<kCapacity> polygon, const ClippedPolygon<19>& convex) {
  for (size_t i = 0; i < convex.count; ++i) {
    const Point &from = convex.corners[i], &to = convex.corners[i + 1 < convex.count ? i + 1 : 0];
    polygon = clip(polygon, [&](const Point& p) { return cross(to - from, p - from); });
  }
  return polygon;
}

// From 0 to the smaller area. Both must be finite. Where sides cross, winding numbers count.
double intersection_area(const Quadrilateral& a, const Quadrilateral& b);

// As overlap() of rotated boxes; NaN if a number is not finite, unless the other one is too small. First: a
// Quadrilateral or a PointSet.
template <class First>
float overlap(OverlapMode mode, const First& a, const Quadrilateral& b) {
  if (a.area < kMinBoxArea || b.area < kMinBoxArea) return 0;
  if (!a.is_finite || !b.is_finite) return std::numeric_limits<float>::quiet_NaN();
  return overlap_of_areas(mode, intersection_area(a, b), a.area, b.area);
}

}  // namespace mluop

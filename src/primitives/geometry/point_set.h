// Sets of nine points in a plane: their convex hulls, in double.
#pragma once

#include "primitives/geometry/box_bounds.h"
#include "primitives/geometry/hull.h"
#include "primitives/geometry/quadrilateral.h"

namespace mluop {

struct PointSet {
  static constexpr int kPoints = 9, kColumns = 2 * kPoints;

  // numbers: x1, y1, ..., x9, y9, the points in any order.
  explicit PointSet(const float* numbers);

  // The bounds of the hull; they meet all if a number is not finite.
  Bounds bounds() const;

  Hull<kPoints> hull;  // without corners if a number is not finite
  double area;         // of the hull; NaN if a number is not finite
  bool is_finite;
};

// The area of the intersection of the hull and a quadrilateral, at most the area of either. Both must be finite.
double intersection_area(const PointSet& a, const Quadrilateral& b);

}  // namespace mluop

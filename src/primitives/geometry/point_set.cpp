#include "primitives/geometry/point_set.h"

#include <algorithm>
#include <limits>

namespace mluop {

PointSet::PointSet(const float* numbers)
    : area(std::numeric_limits<double>::quiet_NaN()), is_finite(are_finite(numbers, kColumns)) {
  if (!is_finite) return;
  std::array<Point, kPoints> points;
  for (size_t i = 0; i < kPoints; ++i) points[i] = {numbers[2 * i], numbers[2 * i + 1]};
  hull = Hull<kPoints>(points, kPoints);
  area = hull.area();
}

Bounds PointSet::bounds() const {
  if (!is_finite) return Bounds::all();
  Point low = hull[0], high = hull[0];
  for (int i = 1; i < hull.count; ++i) {
    low = {std::min(low.x, hull[i].x), std::min(low.y, hull[i].y)};
    high = {std::max(high.x, hull[i].x), std::max(high.y, hull[i].y)};
  }
  return bounds_around(low.x, low.y, high.x, high.y);
}

double intersection_area(const PointSet& a, const Quadrilateral& b) {
  const ConvexParts parts(b, a.hull[0]);
  double area = 0;
  for (int part = 0; part < parts.count; ++part) {
    // Clipped by at most four half planes: 9, 13, 19, 28, 42 corners.
    ClippedPolygon<42> clipped;
    for (int i = 0; i < a.hull.count; ++i) clipped.append(a.hull[i] - a.hull[0]);
    area += parts.signs[part] * area_of(clip_by(clipped, parts.parts[part]));
  }
  return std::clamp(area, 0.0, std::min(a.area, b.area));
}

}  // namespace mluop

#include "primitives/geometry/quadrilateral.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mluop {

ConvexParts::ConvexParts(const Quadrilateral& quad, const Point& origin) : count(quad.is_convex ? 1 : 2) {
  std::array<Point, 4> p;
  std::transform(quad.corners.begin(), quad.corners.end(), p.begin(),
                 [&](const Point& corner) { return corner - origin; });
  for (int part = 0; part < count; ++part) {
    parts[part].append(p[0]);
    for (int i = 1 + part; i < (quad.is_convex ? 4 : 3 + part); ++i) parts[part].append(p[i]);
    auto& corners = parts[part].corners;
    signs[part] = signed_area2(corners.data(), 3) < 0 && !quad.is_convex ? -1 : 1;
    if (signs[part] < 0) std::swap(corners[1], corners[2]);
  }
}

Quadrilateral::Quadrilateral(const float* numbers) : is_convex(true), is_finite(are_finite(numbers, kColumns)) {
  for (size_t i = 0; i < 4; ++i) corners[i] = {numbers[2 * i], numbers[2 * i + 1]};
  const double twice = signed_area2(corners.data(), corners.size());
  area = is_finite ? std::abs(twice) / 2 : std::numeric_limits<double>::quiet_NaN();
  if (!is_finite) return;
  if (twice < 0) std::reverse(corners.begin(), corners.end());
  const auto is_concave_at = [&](int i) {
    const Point &before = corners[(i + 3) % 4], &at = corners[i], &after = corners[(i + 1) % 4];
    return cross(at - before, after - at) < 0;
  };
  int concave = 0, first = 0;
  for (int i = 0; i < 4; ++i) {
    if (!is_concave_at(i)) continue;
    ++concave;
    first = i;
  }
  is_convex = concave == 0;
  if (concave == 1) std::rotate(corners.begin(), corners.begin() + first, corners.end());
}

Bounds Quadrilateral::bounds() const {
  if (area < kMinBoxArea) return Bounds::none();
  if (!is_finite) return Bounds::all();
  const auto [left, right] = std::minmax_element(corners.begin(), corners.end(),
                                                 [](const Point& a, const Point& b) { return a.x < b.x; });
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end(),
                                               [](const Point& a, const Point& b) { return a.y < b.y; });
  return bounds_around(left->x, low->y, right->x, high->y);
}

double intersection_area(const Quadrilateral& a, const Quadrilateral& b) {
  // The larger one clips the smaller one, whose corners are small numbers: the error is relative to the smaller
  // one.
  const bool is_a_larger = a.area > b.area;
  const Quadrilateral &larger = is_a_larger ? a : b, &smaller = is_a_larger ? b : a;
  const ConvexParts clipping(larger, smaller.corners[0]), clipped(smaller, smaller.corners[0]);
  double area = 0;
  for (int i = 0; i < clipped.count; ++i) {
    for (int j = 0; j < clipping.count; ++j) {
      const double sign = clipped.signs[i] * clipping.signs[j];
      area += sign * area_of(clip_by(clipped.parts[i], clipping.parts[j]));
    }
  }
  return std::clamp(area, 0.0, std::min(a.area, b.area));
}

}  // namespace mluop

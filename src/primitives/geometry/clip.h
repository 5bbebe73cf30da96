// Polygons in a plane clipped by half planes, in double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace mluop {

struct Point {
  double x, y;
};

inline Point operator-(const Point& a, const Point& b) { return {a.x - b.x, a.y - b.y}; }
// Positive if b is to the left of a.
inline double cross(const Point& a, const Point& b) { return a.x * b.y - a.y * b.x; }

inline bool are_finite(const float* numbers, int count) {
  return std::all_of(numbers, numbers + count, [](float number) { return std::isfinite(number); });
}

// A polygon of at most kCapacity corners. A half plane replaces each run of corners outside it by two corners:
// including rounding errors, it adds at most half of the present number of corners.
template <size_t kCapacity>
struct ClippedPolygon {
  void append(const Point& corner) { corners[count++] = corner; }

  std::array<Point, kCapacity> corners;
  size_t count = 0;
};

// The part of a polygon in the half plane where inside(point), a signed distance, is not negative.
template <size_t kCapacity, class Distance>
ClippedPolygon<kCapacity> clip(const ClippedPolygon<kCapacity>& polygon, const Distance& inside) {
  ClippedPolygon<kCapacity> part;
  for (size_t i = 0; i < polygon.count; ++i) {
    const Point &from = polygon.corners[i], &to = polygon.corners[i + 1 < polygon.count ? i + 1 : 0];
    const double from_inside = inside(from), to_inside = inside(to);
    if (from_inside >= 0) part.append(from);
    if ((from_inside >= 0) == (to_inside >= 0)) continue;
    const double t = from_inside / (from_inside - to_inside);
    part.append({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
  }
  return part;
}

// Twice the area of a polygon, positive if its corners are counter-clockwise; relative to its first corner.
inline double signed_area2(const Point* corners, size_t count) {
  double twice = 0;
  for (size_t i = 2; i < count; ++i) twice += cross(corners[i - 1] - corners[0], corners[i] - corners[0]);
  return twice;
}

template <size_t kCapacity>
double area_of(const ClippedPolygon<kCapacity>& polygon) {
  return std::abs(signed_area2(polygon.corners.data(), polygon.count)) / 2;
}

}  // namespace mluop

#include "primitives/geometry/rotated_box.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/geometry/clip.h"

namespace mluop {
namespace {

// A bound of the relative error of a computed corner, with a margin.
constexpr double kCornerError = 1e-12;

// A rectangle clipped by four half planes: 4, 6, 9, 13, 19 corners.
using ClippedBox = ClippedPolygon<19>;

// A box relative to another one, whose center becomes the origin and whose sides become parallel to the axes.
ClippedBox relative(const RotatedBox& box, const RotatedBox& to) {
  const double dx = box.x - to.x, dy = box.y - to.y;
  const double x = dx * to.cosine + dy * to.sine, y = dy * to.cosine - dx * to.sine;
  const double cosine = box.cosine * to.cosine + box.sine * to.sine;
  const double sine = box.sine * to.cosine - box.cosine * to.sine;
  const double wx = box.half_width * cosine, wy = box.half_width * sine;
  const double hx = -box.half_height * sine, hy = box.half_height * cosine;
  ClippedBox polygon;
  polygon.append({x - wx - hx, y - wy - hy});
  polygon.append({x + wx - hx, y + wy - hy});
  polygon.append({x + wx + hx, y + wy + hy});
  polygon.append({x - wx + hx, y - wy + hy});
  return polygon;
}

}  // namespace

RotatedBox::RotatedBox(const float* box)
    : x(box[0]),
      y(box[1]),
      half_width(std::abs(double{box[2]}) / 2),
      half_height(std::abs(double{box[3]}) / 2),
      cosine(std::cos(double{box[4]})),
      sine(std::sin(double{box[4]})),
      area(box[2] <= 0 || box[3] <= 0 ? 0 : double{box[2]} * box[3]),
      is_finite(are_finite(box, kColumns)) {}

Bounds RotatedBox::bounds() const {
  if (area < kMinBoxArea) return Bounds::none();
  if (!is_finite) return Bounds::all();
  const double margin = kCornerError * (std::abs(x) + std::abs(y) + half_width + half_height);
  const double dx = std::abs(half_width * cosine) + std::abs(half_height * sine) + margin;
  const double dy = std::abs(half_width * sine) + std::abs(half_height * cosine) + margin;
  return bounds_around(x - dx, y - dy, x + dx, y + dy);
}

double intersection_area(const RotatedBox& a, const RotatedBox& b) {
  // The larger box clips the smaller one, whose corners are small numbers: the error is relative to the smaller
  // box.
  const bool is_a_larger = a.half_width + a.half_height > b.half_width + b.half_height;
  const RotatedBox &larger = is_a_larger ? a : b, &smaller = is_a_larger ? b : a;
  ClippedBox polygon = relative(smaller, larger);
  polygon = clip(polygon, [&](const Point& p) { return larger.half_width - p.x; });
  polygon = clip(polygon, [&](const Point& p) { return larger.half_width + p.x; });
  polygon = clip(polygon, [&](const Point& p) { return larger.half_height - p.y; });
  polygon = clip(polygon, [&](const Point& p) { return larger.half_height + p.y; });
  return std::min({area_of(polygon), a.area, b.area});
}

float overlap(OverlapMode mode, const RotatedBox& a, const RotatedBox& b) {
  if (a.area < kMinBoxArea || b.area < kMinBoxArea) return 0;
  if (std::isnan(a.area) || std::isnan(b.area)) return std::numeric_limits<float>::quiet_NaN();
  if (!a.is_finite || !b.is_finite) return 0;
  return overlap_of_areas(mode, intersection_area(a, b), a.area, b.area);
}

}  // namespace mluop

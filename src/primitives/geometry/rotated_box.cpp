#include "primitives/geometry/rotated_box.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mluop {
namespace {

// Boxes with a smaller area overlap no other box.
constexpr double kMinArea = 1e-14;
// A bound of the relative error of a computed corner, with a margin.
constexpr double kCornerError = 1e-12;

struct Corner {
  double x, y;
};

// A rectangle clipped by half planes. Each of four half planes replaces each run of corners outside it by two
// corners: including rounding errors, it adds at most half of the present number of corners.
struct ClippedBox {
  static constexpr size_t kMaxCorners = 19;

  void append(const Corner& corner) { corners[count++] = corner; }

  std::array<Corner, kMaxCorners> corners;
  size_t count = 0;
};

// The part of a polygon in the half plane where inside(point), a signed distance, is not negative.
template <class Distance>
ClippedBox clip(const ClippedBox& polygon, const Distance& inside) {
  ClippedBox part;
  for (size_t i = 0; i < polygon.count; ++i) {
    const Corner &from = polygon.corners[i], &to = polygon.corners[i + 1 < polygon.count ? i + 1 : 0];
    const double from_inside = inside(from), to_inside = inside(to);
    if (from_inside >= 0) part.append(from);
    if ((from_inside >= 0) == (to_inside >= 0)) continue;
    const double t = from_inside / (from_inside - to_inside);
    part.append({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
  }
  return part;
}

double area_of(const ClippedBox& polygon) {
  double twice = 0;
  for (size_t i = 2; i < polygon.count; ++i) {
    const Corner &origin = polygon.corners[0], &a = polygon.corners[i - 1], &b = polygon.corners[i];
    twice += (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x);
  }
  return std::abs(twice) / 2;
}

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
      is_finite(std::all_of(box, box + 5, [](float number) { return std::isfinite(number); })) {}

Bounds RotatedBox::bounds() const {
  if (area < kMinArea) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    return {kNone, kNone, kNone, kNone};
  }
  if (!is_finite) {
    constexpr float kAll = std::numeric_limits<float>::infinity();
    return {-kAll, -kAll, kAll, kAll};
  }
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
  polygon = clip(polygon, [&](const Corner& p) { return larger.half_width - p.x; });
  polygon = clip(polygon, [&](const Corner& p) { return larger.half_width + p.x; });
  polygon = clip(polygon, [&](const Corner& p) { return larger.half_height - p.y; });
  polygon = clip(polygon, [&](const Corner& p) { return larger.half_height + p.y; });
  return std::min({area_of(polygon), a.area, b.area});
}

float overlap(OverlapMode mode, const RotatedBox& a, const RotatedBox& b) {
  if (a.area < kMinArea || b.area < kMinArea) return 0;
  if (std::isnan(a.area) || std::isnan(b.area)) return std::numeric_limits<float>::quiet_NaN();
  if (!a.is_finite || !b.is_finite) return 0;
  const double intersection = intersection_area(a, b);
  return static_cast<float>(intersection / (mode == OverlapMode::kIou ? a.area + b.area - intersection : a.area));
}

}  // namespace mluop

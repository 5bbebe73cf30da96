// Start with write_giou() at the end, which has the formulas, then Fan, which has the intersection.
#include "primitives/geometry/generalized_iou.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "primitives/geometry/clip.h"
#include "primitives/geometry/hull.h"

namespace mluop {
namespace {

// Crosses and differences of at most this are 0.
constexpr double kEpsilon = 1e-8;

int sign(double number) { return number > kEpsilon ? 1 : number < -kEpsilon ? -1 : 0; }

// A number that depends on the points a and b of a side of the hull, and its derivatives for their x and y.
struct Dual {
  double value = 0;
  std::array<double, 4> slopes{};  // for a.x, a.y, b.x, b.y
};

template <class Value, class Slope>
Dual dual(const Value& value, const Slope& slope) {
  Dual result{value, {}};
  for (size_t i = 0; i < 4; ++i) result.slopes[i] = slope(i);
  return result;
}
Dual operator+(const Dual& a, const Dual& b) {
  return dual(a.value + b.value, [&](size_t i) { return a.slopes[i] + b.slopes[i]; });
}
Dual operator-(const Dual& a, const Dual& b) {
  return dual(a.value - b.value, [&](size_t i) { return a.slopes[i] - b.slopes[i]; });
}
Dual operator*(const Dual& a, const Dual& b) {
  return dual(a.value * b.value, [&](size_t i) { return a.slopes[i] * b.value + a.value * b.slopes[i]; });
}
Dual operator/(const Dual& a, const Dual& b) {
  const double quotient = a.value / b.value;
  return dual(quotient, [&](size_t i) { return (a.slopes[i] - quotient * b.slopes[i]) / b.value; });
}

struct DualPoint {
  Dual x, y;
};

bool are_equal(const DualPoint& a, const DualPoint& b) {
  return sign(a.x.value - b.x.value) == 0 && sign(a.y.value - b.y.value) == 0;
}

// The part of a triangle from the origin to a side of the hull that is in a triangle from the origin to a side
// of the other polygon: clipped by three lines, a triangle has at most 3 + 3 corners, and twice as many in
// between.
struct Fan {
  static constexpr int kCapacity = 16;

  // Clips by the half plane to the left of the line from `from` to `to`.
  void clip(const Point& from, const Point& to) {
    std::array<DualPoint, kCapacity> kept;
    int kept_count = 0;
    const auto side_of = [&](const DualPoint& p) {
      return Dual{to.x - from.x} * (p.y - Dual{from.y}) - (p.x - Dual{from.x}) * Dual{to.y - from.y};
    };
    std::array<Dual, kCapacity> sides;
    std::transform(corners.begin(), corners.begin() + count, sides.begin(), side_of);
    for (int i = 0; i < count; ++i) {
      const int next = i + 1 < count ? i + 1 : 0;
      const DualPoint &p = corners[i], &q = corners[next];
      const Dual &of_p = sides[i], &of_q = sides[next];
      if (sign(of_p.value) > 0) kept[kept_count++] = p;
      if (sign(of_p.value) == sign(of_q.value) || sign(of_q.value - of_p.value) == 0) continue;
      const Dual length = of_q - of_p;
      kept[kept_count++] = {(p.x * of_q - q.x * of_p) / length, (p.y * of_q - q.y * of_p) / length};
    }
    count = 0;
    for (int i = 0; i < kept_count; ++i) {
      if (i == 0 || !are_equal(kept[i], kept[i - 1])) corners[count++] = kept[i];
    }
    while (count > 1 && are_equal(corners[count - 1], corners[0])) --count;
  }

  Dual area() const {
    Dual twice;
    for (int i = 0; i < count; ++i) {
      const DualPoint &p = corners[i], &q = corners[i + 1 < count ? i + 1 : 0];
      twice = twice + (p.x * q.y - p.y * q.x);
    }
    return twice * Dual{twice.value < 0 ? -0.5 : 0.5};
  }

  std::array<DualPoint, kCapacity> corners;
  int count;
};

// The signed area that the triangles of the origin with the sides a-b and c-d share.
Dual shared_area(Point a, Point b, Point c, Point d) {
  const int of_hull = sign(cross(a, b)), of_other = sign(cross(c, d));
  if (of_hull == 0 || of_other == 0) return {};
  DualPoint first{{a.x, {1, 0, 0, 0}}, {a.y, {0, 1, 0, 0}}}, second{{b.x, {0, 0, 1, 0}}, {b.y, {0, 0, 0, 1}}};
  if (of_hull < 0) std::swap(first, second);
  if (of_other < 0) std::swap(c, d);
  Fan fan{{DualPoint{}, first, second}, 3};
  const Point lines[][2] = {{{0, 0}, c}, {c, d}, {d, {0, 0}}};
  for (const auto& [from, to] : lines) {
    fan.clip(from, to);
    if (fan.count == 0) return {};
  }
  return fan.area() * Dual{static_cast<double>(of_hull * of_other)};
}

using Gradient = std::array<Point, PointSet::kPoints>;  // for the points of a set

// The derivatives of the area of a counter-clockwise polygon for the x and y of a corner, from both neighbors.
Point area_slope(const Point& before, const Point& after) {
  return {(after.y - before.y) / 2, (before.x - after.x) / 2};
}

}  // namespace

void write_giou(const PointSet& set, const Quadrilateral& polygon, float* to) {
  std::fill_n(to, PointSet::kColumns, 0.0F);
  if (!set.is_finite || !polygon.is_finite) {
    to[PointSet::kColumns] = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  const auto& hull = set.hull;
  std::array<Point, 13> corners;
  int corner_count = 0;
  for (; corner_count < hull.count; ++corner_count) corners[corner_count] = hull[corner_count];
  for (const Point& corner : polygon.corners) {
    const bool is_new = std::none_of(corners.begin(), corners.begin() + hull.count, [&](const Point& other) {
      return sign(corner.x - other.x) == 0 && sign(corner.y - other.y) == 0;
    });
    if (is_new) corners[corner_count++] = corner;
  }
  const Hull<13> common(corners, corner_count);
  const double of_hull = set.area, of_common = common.area();
  double shared = 0;
  Gradient shared_slopes{}, hull_slopes{}, common_slopes{};
  // Triangles of a polygon without area cancel up to rounding errors.
  const bool has_area = hull.count > 2 && polygon.area > 0;
  for (int i = 0; i < hull.count && has_area; ++i) {
    const auto [a, from] = hull.corners[i];
    const auto [b, into] = hull.corners[i + 1 < hull.count ? i + 1 : 0];
    for (size_t j = 0; j < 4; ++j) {
      const Dual area = shared_area(a, b, polygon.corners[j], polygon.corners[(j + 1) % 4]);
      shared += area.value;
      shared_slopes[from] = {shared_slopes[from].x + area.slopes[0], shared_slopes[from].y + area.slopes[1]};
      shared_slopes[into] = {shared_slopes[into].x + area.slopes[2], shared_slopes[into].y + area.slopes[3]};
    }
  }
  for (int i = 0; i < hull.count && hull.count > 2; ++i) {
    hull_slopes[hull.corners[i].index] = area_slope(hull[(i + hull.count - 1) % hull.count], hull.after(i));
  }
  for (int i = 0; i < common.count && common.count > 2; ++i) {
    const int8_t corner = common.corners[i].index;
    if (corner >= hull.count) continue;
    common_slopes[hull.corners[corner].index] =
        area_slope(common[(i + common.count - 1) % common.count], common.after(i));
  }
  const double I = shared, U = of_hull + polygon.area - I, C = of_common;
  const double of_shared = (U + I) / (U * U) - 1 / C, of_area = 1 / C - I / (U * U), of_both = -U / (C * C);
  for (size_t i = 0; i < PointSet::kPoints; ++i) {
    const auto slope = [&](double Point::*axis) {
      return static_cast<float>(of_shared * (shared_slopes[i].*axis) + of_area * (hull_slopes[i].*axis) +
                                of_both * (common_slopes[i].*axis));
    };
    to[2 * i] = slope(&Point::x);
    to[2 * i + 1] = slope(&Point::y);
  }
  to[PointSet::kColumns] = static_cast<float>(I / U - (C - U) / C);
}

}  // namespace mluop

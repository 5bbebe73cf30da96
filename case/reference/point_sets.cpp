#include "reference/point_sets.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "reference/polygons.h"

namespace mluop::reference {
namespace {

using Real = long double;

constexpr size_t kPoints = 9, kCorners = 4;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Region hull_region(const float* set) {
  if (!are_finite(set, 2 * kPoints)) return region_of({}, false);
  const Polygon points = points_of(set, kPoints);
  return region_of(points_at(points, hull_of(points)), true);
}

Region polygon_region(const float* polygon) {
  return region_of(points_of(polygon, kCorners), are_finite(polygon, 2 * kCorners));
}

// The derivatives of the area of a hull, for all points. A side that moves outward adds area where
// weights_of(from, to) counts it: along the whole side, or along its part inside of another polygon.
template <class WeightsOf>
std::vector<Point> area_slopes(const Polygon& points, const std::vector<size_t>& hull,
                               const WeightsOf& weights_of) {
  std::vector<Point> slopes(points.size());
  for (size_t i = 0; i < hull.size(); ++i) {
    const size_t from = hull[i], to = hull[(i + 1) % hull.size()];
    const Point &a = points[from], &b = points[to];
    const SideWeights weights = weights_of(a, b);
    const Point normal{b.y - a.y, a.x - b.x};  // outward, as long as the side
    slopes[from] = {slopes[from].x + weights.at_from * normal.x, slopes[from].y + weights.at_from * normal.y};
    slopes[to] = {slopes[to].x + weights.at_to * normal.x, slopes[to].y + weights.at_to * normal.y};
  }
  return slopes;
}

// A: the hull, B: the polygon, I: their intersection, U: their union, C: the hull of both.
void write_giou(const float* set, const float* polygon, float* to) {
  const Region A = hull_region(set), B = polygon_region(polygon);
  std::fill_n(to, 2 * kPoints, 0.0F);
  if (!A.is_finite || !B.is_finite) {
    to[2 * kPoints] = kNan;
    return;
  }
  const Polygon points = points_of(set, kPoints);
  Polygon all = points;
  all.insert(all.end(), B.corners.begin(), B.corners.end());
  const std::vector<size_t> hull = hull_of(points), common = hull_of(all);
  const Real I = shared_area(A.corners, B.corners), U = A.area + B.area - I,
             C = signed_area(points_at(all, common));
  const auto whole = [](const Point&, const Point&) { return SideWeights{0.5L, 0.5L}; };
  const auto inside = [&](const Point& a, const Point& b) { return weights_inside(B.corners, a, b); };
  const std::vector<Point> of_A = area_slopes(points, hull, whole), of_I = area_slopes(points, hull, inside),
                           of_C = area_slopes(all, common, whole);
  for (size_t i = 0; i < kPoints; ++i) {
    const auto slope = [&](Real Point::*axis) {
      const Real dI = of_I[i].*axis, dU = of_A[i].*axis - dI, dC = of_C[i].*axis;
      return static_cast<float>(dI / U - I * dU / (U * U) + dU / C - U * dC / (C * C));
    };
    to[2 * i] = slope(&Point::x);
    to[2 * i + 1] = slope(&Point::y);
  }
  to[2 * kPoints] = static_cast<float>(I / U - (C - U) / C);
}

// A rectangle along `direction` that contains a hull.
struct Rectangle {
  Rectangle(const Polygon& hull, const Point& direction) : along(direction) {
    low = high = relative(hull[0]);
    for (const Point& point : hull) {
      const Point p = relative(point);
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }

  Real squared_length() const { return along.x * along.x + along.y * along.y; }
  Real area() const { return (high.x - low.x) * (high.y - low.y) / squared_length(); }
  // Along the direction and to its left, times its length.
  Point relative(const Point& p) const { return {along.x * p.x + along.y * p.y, along.x * p.y - along.y * p.x}; }
  Point absolute(const Point& p) const {
    return {(along.x * p.x - along.y * p.y) / squared_length(),
            (along.y * p.x + along.x * p.y) / squared_length()};
  }

  Point along, low, high;
};

void write_rectangle(const float* set, float* to) {
  constexpr Real kMargin = 1e-6L;
  const Region hull = hull_region(set);
  std::fill_n(to, 2 * kCorners, kNan);
  Real smallest = std::numeric_limits<Real>::infinity();
  for (size_t i = 0; i < hull.corners.size(); ++i) {
    const Point &from = hull.corners[i], &next = hull.corners[(i + 1) % hull.corners.size()];
    Point side = from == next ? Point{1, 0} : Point{next.x - from.x, next.y - from.y};
    while (!(side.x > 0 && side.y >= 0)) side = {-side.y, side.x};
    const Rectangle rectangle(hull.corners, side);
    if (!(rectangle.area() < smallest * (1 - kMargin))) continue;
    smallest = rectangle.area();
    const Point &low = rectangle.low, &high = rectangle.high;
    const Polygon corners = {{high.x, low.y}, {low.x, low.y}, {low.x, high.y}, {high.x, high.y}};
    for (size_t k = 0; k < kCorners; ++k) {
      const Point corner = rectangle.absolute(corners[k]);
      to[2 * k] = static_cast<float>(corner.x);
      to[2 * k + 1] = static_cast<float>(corner.y);
    }
  }
}

}  // namespace

void convex_iou(int64_t N, int64_t K, const float* pointsets, const float* polygons, float* ious) {
  std::vector<Region> second;
  for (int64_t k = 0; k < K; ++k) second.push_back(polygon_region(polygons + k * 2 * kCorners));
  for (int64_t n = 0; n < N; ++n) {
    const Region hull = hull_region(pointsets + n * 2 * kPoints);
    for (const Region& polygon : second) *ious++ = overlap(hull, polygon, false);
  }
}

void convex_giou(int64_t N, const float* pointsets, const float* polygons, float* output) {
  for (int64_t n = 0; n < N; ++n) {
    write_giou(pointsets + n * 2 * kPoints, polygons + n * 2 * kCorners, output + n * (2 * kPoints + 1));
  }
}

void min_area_polygons(int64_t N, const float* pointsets, float* polygons) {
  for (int64_t n = 0; n < N; ++n) write_rectangle(pointsets + n * 2 * kPoints, polygons + n * 2 * kCorners);
}

}  // namespace mluop::reference

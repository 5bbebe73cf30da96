#include "reference/polygons.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mluop::reference {
namespace {

using Real = long double;

const Point& after(const Polygon& polygon, size_t i) { return polygon[(i + 1) % polygon.size()]; }

// Positive if c is to the left of the line from a to b.
Real turn(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

Real distance(const Point& a, const Point& b) { return std::hypot(b.x - a.x, b.y - a.y); }

bool are_apart(const Polygon& a, const Polygon& b) {
  for (Real Point::*const axis : {&Point::x, &Point::y}) {
    const auto is_less = [axis](const Point& p, const Point& q) { return p.*axis < q.*axis; };
    const auto of_a = std::minmax_element(a.begin(), a.end(), is_less);
    const auto of_b = std::minmax_element(b.begin(), b.end(), is_less);
    if (!(is_less(*of_a.first, *of_b.second) && is_less(*of_b.first, *of_a.second))) return true;
  }
  return false;
}

// The sides of a polygon cross the line at y: visit(x, change of the winding number from left to right).
template <class Visit>
void for_each_crossing(const Polygon& polygon, Real y, const Visit& visit) {
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point &from = polygon[i], &to = after(polygon, i);
    if ((from.y > y) == (to.y > y)) continue;
    visit(from.x + (y - from.y) / (to.y - from.y) * (to.x - from.x), from.y > y ? 1 : -1);
  }
}

// The integral of the product of both winding numbers along the line at y.
Real shared_length(const Polygon& a, const Polygon& b, Real y) {
  struct Change {
    Real x;
    int of_a, of_b;
  };
  std::vector<Change> changes;
  for_each_crossing(a, y, [&](Real x, int change) { changes.push_back({x, change, 0}); });
  for_each_crossing(b, y, [&](Real x, int change) { changes.push_back({x, 0, change}); });
  std::sort(changes.begin(), changes.end(), [](const Change& p, const Change& q) { return p.x < q.x; });
  int of_a = 0, of_b = 0;
  Real length = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (of_a * of_b != 0) length += static_cast<Real>(of_a * of_b) * (changes[i].x - changes[i - 1].x);
    of_a += changes[i].of_a;
    of_b += changes[i].of_b;
  }
  return length;
}

int winding_number(const Polygon& polygon, const Point& point) {
  int number = 0;
  for_each_crossing(polygon, point.y, [&](Real x, int change) { number += x < point.x ? change : 0; });
  return number;
}

// Calls visit(t) if the side from a to b crosses the line through c and d between its ends, at a + t (b - a).
template <class Visit>
void visit_crossing(const Point& a, const Point& b, const Point& c, const Point& d, const Visit& visit) {
  const Real slope = (b.x - a.x) * (d.y - c.y) - (b.y - a.y) * (d.x - c.x);
  if (slope == 0) return;
  const Real t = ((c.x - a.x) * (d.y - c.y) - (c.y - a.y) * (d.x - c.x)) / slope;
  if (t > 0 && t < 1) visit(t);
}

}  // namespace

Polygon points_of(const float* numbers, size_t count) {
  Polygon points;
  for (size_t i = 0; i < count; ++i) points.push_back({numbers[2 * i], numbers[2 * i + 1]});
  return points;
}

bool are_finite(const float* numbers, size_t count) {
  return std::all_of(numbers, numbers + count, [](float number) { return std::isfinite(number); });
}

std::vector<size_t> hull_of(const Polygon& points) {
  const auto lowest = std::min_element(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  std::vector<size_t> corners = {static_cast<size_t>(lowest - points.begin())};
  while (corners.size() < points.size()) {
    // All points are to the left of the line from a corner to the next.
    const Point& corner = points[corners.back()];
    size_t next = corners.back();
    for (size_t i = 0; i < points.size(); ++i) {
      if (points[i] == corner) continue;
      const Real side = next == corners.back() ? -1 : turn(corner, points[next], points[i]);
      const bool is_behind = side == 0 && distance(corner, points[i]) > distance(corner, points[next]);
      if (side < 0 || is_behind) next = i;
    }
    if (points[next] == points[corners.front()]) break;
    corners.push_back(next);
  }
  return corners;
}

Polygon points_at(const Polygon& points, const std::vector<size_t>& positions) {
  Polygon selected;
  for (const size_t position : positions) selected.push_back(points[position]);
  return selected;
}

Real signed_area(const Polygon& polygon) {
  Real twice = 0;
  for (size_t i = 2; i < polygon.size(); ++i) twice += turn(polygon[0], polygon[i - 1], polygon[i]);
  return twice / 2;
}

// The integral over y of the shared length, which is linear between the y of corners and crossings of sides.
Real shared_area(const Polygon& a, const Polygon& b) {
  if (are_apart(a, b)) return 0;
  std::vector<Real> ends;
  for (const Polygon* polygon : {&a, &b}) {
    for (const Point& corner : *polygon) ends.push_back(corner.y);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      visit_crossing(a[i], after(a, i), b[j], after(b, j),
                     [&](Real t) { ends.push_back(a[i].y + t * (after(a, i).y - a[i].y)); });
    }
  }
  std::sort(ends.begin(), ends.end());
  Real area = 0;
  for (size_t i = 1; i < ends.size(); ++i) {
    area += (ends[i] - ends[i - 1]) * shared_length(a, b, (ends[i - 1] + ends[i]) / 2);
  }
  return area;
}

SideWeights weights_inside(const Polygon& polygon, const Point& from, const Point& to) {
  std::vector<Real> ends = {0, 1};
  for (size_t i = 0; i < polygon.size(); ++i) {
    visit_crossing(from, to, polygon[i], after(polygon, i), [&](Real t) { ends.push_back(t); });
  }
  std::sort(ends.begin(), ends.end());
  SideWeights weights{0, 0};
  for (size_t i = 1; i < ends.size(); ++i) {
    const Real t = (ends[i - 1] + ends[i]) / 2;
    const Point middle{from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)};
    const Real weight = static_cast<Real>(winding_number(polygon, middle)) * (ends[i] - ends[i - 1]);
    weights.at_from += weight * (1 - t);
    weights.at_to += weight * t;
  }
  return weights;
}

Region region_of(Polygon corners, bool is_finite) {
  const Real area = signed_area(corners);
  if (area < 0) std::reverse(corners.begin(), corners.end());
  return {std::move(corners), is_finite ? std::abs(area) : std::numeric_limits<Real>::quiet_NaN(), is_finite};
}

float overlap(const Region& a, const Region& b, bool is_over_first) {
  constexpr Real kSmallestArea = 1e-14L;
  if (a.area < kSmallestArea || b.area < kSmallestArea) return 0;
  if (!a.is_finite || !b.is_finite) return std::numeric_limits<float>::quiet_NaN();
  const Real shared = std::clamp(shared_area(a.corners, b.corners), Real{0}, std::min(a.area, b.area));
  return static_cast<float>(shared / (is_over_first ? a.area : a.area + b.area - shared));
}

}  // namespace mluop::reference

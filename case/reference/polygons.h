// Polygons in a plane, in long double: hulls, areas, and intersections by integration. The geometry of oracles.
#pragma once

#include <cstddef>
#include <vector>

namespace mluop::reference {

struct Point {
  long double x, y;
  bool operator==(const Point&) const = default;
};

using Polygon = std::vector<Point>;

// The points x1, y1, x2, y2, ...
Polygon points_of(const float* numbers, size_t count);
bool are_finite(const float* numbers, size_t count);

// The positions of the corners of the convex hull, by gift wrapping: counter-clockwise from the lowest, of several
// the leftmost; of equal points the first. Points on a side of the hull are not corners.
std::vector<size_t> hull_of(const Polygon& points);
Polygon points_at(const Polygon& points, const std::vector<size_t>& positions);

// The integral of the winding number: the area if the corners are counter-clockwise and the sides do not cross.
long double signed_area(const Polygon& polygon);

// The integral of the product of both winding numbers: the area of the intersection of two such polygons.
long double shared_area(const Polygon& a, const Polygon& b);

// The integrals of the winding number of a polygon at from + t (to - from), times 1 - t and times t, for t from 0
// to 1.
struct SideWeights {
  long double at_from, at_to;
};
SideWeights weights_inside(const Polygon& polygon, const Point& from, const Point& to);

struct Region {
  Polygon corners;   // the signed area is not negative
  long double area;  // NaN if a number is not finite
  bool is_finite;
};
Region region_of(Polygon corners, bool is_finite);

// The area of the intersection over the area of the union, or of the first region; rounded once. 0 if either area
// is less than 1e-14; else NaN if a number is not finite. If the sides of a polygon cross, its winding number
// counts; the area of the intersection is then limited to the range from 0 to the smaller area.
float overlap(const Region& a, const Region& b, bool is_over_first);

}  // namespace mluop::reference

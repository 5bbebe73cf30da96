// Points in space, and the split of a k-d tree, for searches that sort points.
#pragma once

#include <hwy/base.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/element.h"

namespace mluop {

struct IndexedPoint {
  float coordinates[3];
  int32_t index;
};

// The point with three coordinates of type T. If a coordinate is not finite, all its coordinates are infinite,
// which keeps points ordered.
template <class T>
IndexedPoint load_point(const T* from, int64_t index) {
  IndexedPoint point{{to_f32(from[0]), to_f32(from[1]), to_f32(from[2])}, static_cast<int32_t>(index)};
  const bool finite = std::isfinite(point.coordinates[0]) && std::isfinite(point.coordinates[1]) &&
                      std::isfinite(point.coordinates[2]);
  if (!finite) std::fill_n(point.coordinates, 3, std::numeric_limits<float>::infinity());
  return point;
}

// The bounds of finite points. Without any, low is +infinity and high -infinity.
struct PointBounds {
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  static bool is_finite(const IndexedPoint& point) { return point.coordinates[0] < kInfinity; }
  void add(const IndexedPoint& point) {
    if (!is_finite(point)) return;
    // Otherwise GCC keeps the bounds in memory.
    HWY_UNROLL(3) for (int dim = 0; dim < 3; ++dim) {
      low[dim] = std::min(low[dim], point.coordinates[dim]);
      high[dim] = std::max(high[dim], point.coordinates[dim]);
    }
  }

  float low[3] = {kInfinity, kInfinity, kInfinity};
  float high[3] = {-kInfinity, -kInfinity, -kInfinity};
};

// Partitions points[0, count) in the dimension of their largest extent: points before `middle` have lesser
// (coordinate, index) than points from `middle` on, and points[middle] has the least of the latter. Returns the
// dimension. Linear cost.
int split_points(IndexedPoint* points, int64_t count, int64_t middle);

}  // namespace mluop

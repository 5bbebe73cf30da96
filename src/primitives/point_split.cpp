#include "primitives/point_split.h"

namespace mluop {
namespace {

int widest_dim(const IndexedPoint* points, int64_t count) {
  PointBox box;
  for (int64_t i = 0; i < count; ++i) box.add(points[i]);
  int widest = 0;
  for (int dim = 1; dim < 3; ++dim) {
    if (box.high[dim] - box.low[dim] > box.high[widest] - box.low[widest]) widest = dim;
  }
  return widest;
}

}  // namespace

int split_points(IndexedPoint* points, int64_t count, int64_t middle) {
  const int dim = widest_dim(points, count);
  std::nth_element(points, points + middle, points + count, [dim](const IndexedPoint& a, const IndexedPoint& b) {
    const float x = a.coordinates[dim], y = b.coordinates[dim];
    return x < y || (x == y && a.index < b.index);
  });
  return dim;
}

}  // namespace mluop

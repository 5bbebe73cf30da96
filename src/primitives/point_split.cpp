#include "primitives/point_split.h"

#include <utility>

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

// The order of (coordinate, index). Without branches, half of which would be mispredicted.
struct Less {
  bool operator()(const IndexedPoint& a, const IndexedPoint& b) const {
    const float x = a.coordinates[dim], y = b.coordinates[dim];
    return (static_cast<int>(x < y) | (static_cast<int>(x == y) & static_cast<int>(a.index < b.index))) != 0;
  }

  int dim;
};

// Moves the points that are less than the pivot before the others, and returns their number.
int64_t partition(IndexedPoint* points, int64_t count, const IndexedPoint& pivot, const Less& less) {
  int64_t lesser = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_lesser = less(points[i], pivot);
    std::swap(points[i], points[lesser]);
    lesser += static_cast<int64_t>(is_lesser);
  }
  return lesser;
}

// std::nth_element, of which partition() takes the first rounds.
void select(IndexedPoint* points, int64_t count, int64_t middle, const Less& less) {
  constexpr int64_t kMinCount = 64, kSampled = 16;
  // A round halves the range, about. For any points, the cost is linear.
  constexpr int kMaxRounds = 32;
  int64_t begin = 0, end = count;
  for (int round = 0; round < kMaxRounds && end - begin > kMinCount; ++round) {
    IndexedPoint sampled[kSampled];
    for (int64_t i = 0; i < kSampled; ++i) sampled[i] = points[begin + i * ((end - begin) / kSampled)];
    // Not the least: then a point is less, and the range becomes shorter.
    const int64_t rank = std::clamp<int64_t>((middle - begin) * kSampled / (end - begin), 1, kSampled - 1);
    std::nth_element(sampled, sampled + rank, sampled + kSampled, less);
    const int64_t split = begin + partition(points + begin, end - begin, sampled[rank], less);
    (middle < split ? end : begin) = split;
  }
  std::nth_element(points + begin, points + middle, points + end, less);
}

}  // namespace

int split_points(IndexedPoint* points, int64_t count, int64_t middle) {
  const int dim = widest_dim(points, count);
  select(points, count, middle, {dim});
  return dim;
}

}  // namespace mluop

#include "primitives/geometry/point_split.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace mluop {
namespace {

int widest_dim(const IndexedPoint* points, int64_t count) {
  PointBounds box;
  for (int64_t i = 0; i < count; ++i) box.add(points[i]);
  int widest = 0;
  for (int dim = 1; dim < 3; ++dim) {
    if (box.high[dim] - box.low[dim] > box.high[widest] - box.low[widest]) widest = dim;
  }
  return widest;
}

// A number that orders points by (coordinate, index): one branch-free comparison.
int64_t key_of(const IndexedPoint& point, int dim) {
  // -0 equals 0.
  const auto bits = std::bit_cast<int32_t>(point.coordinates[dim] + 0.0F);
  return int64_t{bits ^ (bits >> 31 & 0x7FFFFFFF)} << 32 | point.index;
}

// Loads and stores whole points: a load would wait for narrower stores.
void exchange(IndexedPoint& a, IndexedPoint& b) {
  alignas(IndexedPoint) std::byte of_a[sizeof(IndexedPoint)], of_b[sizeof(IndexedPoint)];
  std::memcpy(of_a, &a, sizeof(of_a));
  std::memcpy(of_b, &b, sizeof(of_b));
  std::memcpy(&a, of_b, sizeof(of_b));
  std::memcpy(&b, of_a, sizeof(of_a));
}

// Moves the points with lesser keys to the front and returns their number. Branch-free: half of the branches would
// be mispredicted.
int64_t partition(IndexedPoint* points, int64_t count, int64_t key, int dim) {
  int64_t lesser = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_lesser = key_of(points[i], dim) < key;
    exchange(points[i], points[lesser]);
    lesser += static_cast<int64_t>(is_lesser);
  }
  return lesser;
}

// std::nth_element, with partition() for the first rounds.
void select(IndexedPoint* points, int64_t count, int64_t middle, int dim) {
  const auto less = [dim](const IndexedPoint& a, const IndexedPoint& b) {
    return key_of(a, dim) < key_of(b, dim);
  };
  constexpr int64_t kMinCount = 64, kSampled = 16;
  // A round roughly halves the range. The cost is linear for any points.
  constexpr int kMaxRounds = 32;
  int64_t begin = 0, end = count;
  for (int round = 0; round < kMaxRounds && end - begin > kMinCount; ++round) {
    int64_t sampled[kSampled];
    for (int64_t i = 0; i < kSampled; ++i)
      sampled[i] = key_of(points[begin + i * ((end - begin) / kSampled)], dim);
    // At least the second least: then a point is less, and the range shrinks.
    const int64_t rank = std::clamp<int64_t>((middle - begin) * kSampled / (end - begin), 1, kSampled - 1);
    std::nth_element(sampled, sampled + rank, sampled + kSampled);
    const int64_t split = begin + partition(points + begin, end - begin, sampled[rank], dim);
    (middle < split ? end : begin) = split;
  }
  std::nth_element(points + begin, points + middle, points + end, less);
}

}  // namespace

int split_points(IndexedPoint* points, int64_t count, int64_t middle) {
  const int dim = widest_dim(points, count);
  select(points, count, middle, dim);
  return dim;
}

}  // namespace mluop

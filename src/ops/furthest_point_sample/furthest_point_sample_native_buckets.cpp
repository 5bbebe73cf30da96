#include "ops/furthest_point_sample/furthest_point_sample_native_buckets.h"

#include <algorithm>
#include <bit>

#include "core/sizes.h"
#include "ops/furthest_point_sample/furthest_point_sample.h"
#include "ops/furthest_point_sample/rank.h"

namespace mluop::furthest_point_sample::native {
namespace {

constexpr int64_t kMinBucketPoints = 32;

// A level of splits costs as much as comparing all points with this many samples.
constexpr int64_t kSamplesPerLevel = 16;

// Less than any distance.
constexpr float kPaddingDistance = -1;

constexpr IndexedPoint kPaddingPoint{{PointBounds::kInfinity, PointBounds::kInfinity, PointBounds::kInfinity}, 0};

void set_bounds(const Cloud& cloud, int64_t bucket, const PointBounds& box, float max_distance) {
  for (int dim = 0; dim < 3; ++dim) {
    cloud.low[dim][bucket] = box.low[dim];
    cloud.high[dim][bucket] = box.high[dim];
  }
  cloud.max_distances[bucket] = max_distance;
  cloud.furthest_ranks[bucket] = Cloud::kUnknownRank;
}

void set_bucket(const BucketShape& shape, const Cloud& cloud, int64_t bucket) {
  const int64_t first = shape.first_point(shape.levels, bucket);
  const int64_t count = shape.first_point(shape.levels, bucket + 1) - first;
  PointBounds box;
  for (int64_t i = 0; i < shape.bucket_size; ++i) {
    const int64_t to = bucket * shape.bucket_size + i;
    const IndexedPoint& point = i < count ? cloud.points[first + i] : kPaddingPoint;
    box.add(point);
    for (int dim = 0; dim < 3; ++dim) cloud.coordinates[dim][to] = point.coordinates[dim];
    cloud.distances[to] = i < count ? kFirstDistance : kPaddingDistance;
    cloud.ranks[to] = rank_of(point.index);
  }
  set_bounds(cloud, bucket, box, kFirstDistance);
}

// Sorts the points of a node into its buckets, depth first, so that they stay in the caches.
void sort(const BucketShape& shape, const Cloud& cloud, int level, int64_t node) {
  if (level == shape.levels) return set_bucket(shape, cloud, node);
  const int64_t first = shape.first_point(level, node);
  const int64_t middle = shape.first_point(level + 1, 2 * node + 1);
  split_points(cloud.points + first, shape.first_point(level, node + 1) - first, middle - first);
  sort(shape, cloud, level + 1, 2 * node);
  sort(shape, cloud, level + 1, 2 * node + 1);
}

}  // namespace

// A sample is compared with the bounds of all buckets and with the points of the few buckets around it: with 2
// sqrt(N) buckets, both cost about the same. For few samples, many levels do not pay off; with zero levels a
// sample is compared with all points.
BucketShape::BucketShape(int64_t point_count, int64_t sample_count) : N(point_count) {
  const auto log2 = [](int64_t count) { return int64_t{63} - std::countl_zero(static_cast<uint64_t>(count)); };
  const int64_t largest = N < kMinBucketPoints ? 0 : log2(N / kMinBucketPoints);
  levels = static_cast<int>(std::min({log2(N) / 2 + 1, largest, sample_count / kSamplesPerLevel}));
  buckets = int64_t{1} << levels;
  bucket_size = round_up(ceil_div(N, buckets), kPadding);
  padded_count = round_up(buckets, kPadding);
}

Cloud::Cloud(Arena& arena, const BucketShape& shape) {
  points = arena.take<IndexedPoint>("points", {shape.N});
  for (float*& each : coordinates) each = arena.take<float>("coordinates", {shape.padded_points()});
  distances = arena.take<float>("distances", {shape.padded_points()});
  ranks = arena.take<int32_t>("ranks", {shape.padded_points()});
  for (float*& each : low) each = arena.take<float>("low", {shape.padded_count});
  for (float*& each : high) each = arena.take<float>("high", {shape.padded_count});
  max_distances = arena.take<float>("max distances", {shape.padded_count});
  furthest_ranks = arena.take<int32_t>("furthest ranks", {shape.padded_count});
}

void build(const float* points, const BucketShape& shape, const Cloud& cloud) {
  for (int64_t k = 0; k < shape.N; ++k) cloud.points[k] = load_point(points + k * 3, k);
  sort(shape, cloud, 0, 0);
  for (int64_t bucket = shape.buckets; bucket < shape.padded_count; ++bucket) {
    set_bounds(cloud, bucket, {}, kPaddingDistance);
  }
}

}  // namespace mluop::furthest_point_sample::native

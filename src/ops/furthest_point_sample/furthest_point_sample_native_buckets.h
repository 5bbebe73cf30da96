// Furthest point sampling: a cloud in buckets of nearby points.
//
// The buckets are the leaves of a k-d tree that splits the points at medians, in the dimension of their largest
// extent: any distribution yields buckets of equal size. A bucket stores the bounds of its points and the largest
// distance of one of them to the samples.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "primitives/geometry/point_split.h"

namespace mluop::furthest_point_sample::native {

struct BucketShape {
  // Arrays of points and of buckets are padded to the longest vector.
  static constexpr int64_t kPadding = 16;

  BucketShape(int64_t point_count, int64_t sample_count);

  // The first point of a node of a level, which is the end of the previous node.
  int64_t first_point(int level, int64_t node) const { return N * node >> level; }
  int64_t padded_points() const { return buckets * bucket_size; }

  int64_t N;
  int levels;            // levels of splits
  int64_t buckets;       // 2^levels
  int64_t bucket_size;   // the points of a bucket, padded
  int64_t padded_count;  // number of buckets, padded
};

// The scratch memory of a cloud. Padding has infinite coordinates and bounds, and a distance below all others.
struct Cloud {
  Cloud(Arena& arena, const BucketShape& shape);

  static constexpr int32_t kUnknownRank = -1;

  IndexedPoint* points;  // [N], used while sorting

  // [buckets, bucket_size]
  float* coordinates[3];
  float* distances;  // distances to the samples
  int32_t* ranks;

  // [padded_count]
  float* low[3];
  float* high[3];
  float* max_distances;
  int32_t* furthest_ranks;  // lowest rank among the points at the maximum distance, or kUnknownRank
};

// Sorts the points [N, 3] into the buckets. Sets distances to kFirstDistance and ranks to kUnknownRank.
void build(const float* points, const BucketShape& shape, const Cloud& cloud);

}  // namespace mluop::furthest_point_sample::native

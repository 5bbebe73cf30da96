#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/furthest_point_sample/furthest_point_sample_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/simd.h"
#include "ops/furthest_point_sample/furthest_point_sample_native_kernels.h"
#include "ops/furthest_point_sample/rank.h"
#include "primitives/geometry/distance-inl.h"
#include "primitives/simd/mask_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::furthest_point_sample::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::bits_of;

using D = hn::CappedTag<float, BucketShape::kPadding>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using Vi = hn::Vec<Di>;
using Mask = hn::Mask<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
static_assert(BucketShape::kPadding % kLanes == 0 && Distances::kPadding % kLanes == 0);

// Writes the samples of a cloud. furthest(last) returns the furthest point once `last` is a sample.
template <class Furthest>
HWY_INLINE void sample(int64_t M, int32_t* idx, const Furthest& furthest) {
  idx[0] = 0;
  for (int64_t j = 1; j < M; ++j) {
    idx[j] = furthest(idx[j - 1]);
    // Adding a sample again does not change the distances: it remains the furthest point.
    if (idx[j] == idx[j - 1]) return std::fill(idx + j + 1, idx + M, idx[j]);
  }
}

// The lesser of the distances to a sample and to the others, as fmin computes it: NaN is never less.
HWY_INLINE V nearer(V distance, V to_others) {
  return hn::IfThenElse(hn::Lt(distance, to_others), distance, to_others);
}

// A sample, in all lanes.
struct Sample {
  HWY_INLINE explicit Sample(const float* point)
      : coordinates{hn::Set(D(), point[0]), hn::Set(D(), point[1]), hn::Set(D(), point[2])} {}

  HWY_INLINE V distance_to_points(const Cloud& cloud, int64_t i) const {
    return length([&](int dim) { return hn::Sub(hn::Load(D(), cloud.coordinates[dim] + i), coordinates[dim]); });
  }

  // Lower bounds of the distances of this sample to the points of each bucket, as distance_to_points() computes
  // them: a bucket whose maximum is not greater does not change. In each dimension, the sample is at most as far
  // from the bounds (0 inside them) as from a point. Rounding is monotonic and symmetric, so this also holds for
  // the rounded differences, their squares and the sums. Non-finite points are outside the bounds, and a sample
  // may be non-finite; but an infinite or NaN distance changes nothing.
  HWY_INLINE V distance_to_bounds(const Cloud& cloud, int64_t bucket) const {
    return length([&](int dim) {
      const V below = hn::Sub(hn::Load(D(), cloud.low[dim] + bucket), coordinates[dim]);
      const V above = hn::Sub(coordinates[dim], hn::Load(D(), cloud.high[dim] + bucket));
      return hn::Max(hn::Max(below, above), hn::Zero(D()));
    });
  }

  V coordinates[3];

 private:
  template <class Difference>
  static HWY_INLINE V length(const Difference& difference) {
    return mluop::HWY_NAMESPACE::squared_length<float>(D(), difference(0), difference(1), difference(2));
  }
};

// Updates the distances of a bucket to the samples with a new sample.
HWY_INLINE void update_bucket(const BucketShape& shape, const Cloud& cloud, int64_t bucket, const Sample& added) {
  const D d;
  V max = hn::Zero(d);
  for (int64_t i = bucket * shape.bucket_size; i < (bucket + 1) * shape.bucket_size; i += kLanes) {
    const V distances = nearer(added.distance_to_points(cloud, i), hn::Load(d, cloud.distances + i));
    hn::Store(distances, d, cloud.distances + i);
    max = hn::Max(max, distances);
  }
  cloud.max_distances[bucket] = hn::GetLane(hn::MaxOfLanes(d, max));
  cloud.furthest_ranks[bucket] = Cloud::kUnknownRank;
}

// The lowest ranks_of(i), i = begin, begin + kLanes, ..., among the elements whose distance is `max`.
template <class RanksOf>
HWY_INLINE int32_t lowest_rank(const float* distances, int64_t begin, int64_t end, float max,
                               const RanksOf& ranks_of) {
  const D d;
  const Di di;
  Vi lowest = hn::Set(di, kLastRank);
  for (int64_t i = begin; i < end; i += kLanes) {
    const Mask furthest = hn::Eq(hn::Load(d, distances + i), hn::Set(d, max));
    if (hn::AllFalse(d, furthest)) continue;
    lowest = hn::IfThenElse(hn::RebindMask(di, furthest), hn::Min(lowest, ranks_of(i)), lowest);
  }
  return hn::GetLane(hn::MinOfLanes(di, lowest));
}

// The rank of the furthest point of a bucket, whose distance is `max`.
HWY_INLINE int32_t furthest_rank(const BucketShape& shape, const Cloud& cloud, int64_t bucket, float max) {
  int32_t& rank = cloud.furthest_ranks[bucket];
  if (rank == Cloud::kUnknownRank) {
    const int64_t begin = bucket * shape.bucket_size;
    rank = lowest_rank(cloud.distances, begin, begin + shape.bucket_size, max,
                       [&](int64_t i) { return hn::Load(Di(), cloud.ranks + i); });
  }
  return rank;
}

// Adds a sample, and returns the furthest point.
HWY_INLINE int32_t add_sample(const BucketShape& shape, const Cloud& cloud, const float* point) {
  const D d;
  const Sample added(point);
  V max = hn::Zero(d);
  for (int64_t first = 0; first < shape.padded_count; first += kLanes) {
    const Mask changes = hn::Lt(added.distance_to_bounds(cloud, first), hn::Load(d, cloud.max_distances + first));
    if (!hn::AllFalse(d, changes)) {
      for (uint64_t bits = bits_of(d, changes); bits != 0; bits &= bits - 1) {
        update_bucket(shape, cloud, first + std::countr_zero(bits), added);
      }
    }
    max = hn::Max(max, hn::Load(d, cloud.max_distances + first));
  }
  const float furthest = hn::GetLane(hn::MaxOfLanes(d, max));
  int32_t rank = kLastRank;
  for (int64_t first = 0; first < shape.padded_count; first += kLanes) {
    const Mask has = hn::Eq(hn::Load(d, cloud.max_distances + first), hn::Set(d, furthest));
    if (hn::AllFalse(d, has)) continue;
    for (uint64_t bits = bits_of(d, has); bits != 0; bits &= bits - 1) {
      rank = std::min(rank, furthest_rank(shape, cloud, first + std::countr_zero(bits), furthest));
    }
  }
  return point_of(rank);
}

void sample_points(const SamplePointsArgs& args, int64_t begin, int64_t end, Task&) {
  const BucketShape& shape = args.clouds.shape;
  for (int64_t b = begin; b < end; ++b) {
    const float* points = args.from + b * args.N * 3;
    const Cloud cloud = args.clouds.cloud(b);
    build(points, shape, cloud);
    sample(args.M, args.idx + b * args.M,
           [&](int32_t last) { return add_sample(shape, cloud, points + int64_t{last} * 3); });
  }
}

// Adds a sample whose distances to the N points are `row`, and returns the furthest point.
HWY_INLINE int32_t add_row(const float* row, int64_t N, float* distances) {
  const D d;
  const Di di;
  // Point 0 is selected if no distance is greater.
  constexpr float kLeast = -1;
  V max = hn::Set(d, kLeast);
  const auto add = [&](V to_sample, int64_t i) {
    const V nearest = nearer(to_sample, hn::Load(d, distances + i));
    hn::Store(nearest, d, distances + i);
    max = hn::Max(max, nearest);
  };
  int64_t i = 0;
  for (; i + kLanes <= N; i += kLanes) add(hn::LoadU(d, row + i), i);
  if (i < N) {
    alignas(64) float rest[kLanes] = {};
    std::copy(row + i, row + N, rest);
    add(hn::Load(d, rest), i);
  }

  const float furthest = hn::GetLane(hn::MaxOfLanes(d, max));
  if (furthest == kLeast) return 0;
  // A lane holds the low bits of a point, which are the high bits of its rank.
  alignas(64) int32_t ranks_of_lanes[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) ranks_of_lanes[lane] = rank_of(lane);
  const Vi lanes = hn::Load(di, ranks_of_lanes);
  return point_of(lowest_rank(distances, 0, N, furthest,
                              [&](int64_t first) { return hn::Add(hn::Set(di, rank_of(first)), lanes); }));
}

void sample_distances(const SampleDistancesArgs& args, int64_t begin, int64_t end, Task&) {
  // Less than any maximum, and than the zeros that complete a row.
  constexpr float kPaddingDistance = -std::numeric_limits<float>::infinity();
  for (int64_t b = begin; b < end; ++b) {
    float* distances = args.distances.to_samples + b * args.distances.size;
    std::fill_n(distances, args.N, kFirstDistance);
    std::fill(distances + args.N, distances + args.distances.size, kPaddingDistance);
    const float* matrix = args.from + b * args.N * args.N;
    sample(args.M, args.idx + b * args.M,
           [&](int32_t last) { return add_row(matrix + last * args.N, args.N, distances); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::furthest_point_sample::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::furthest_point_sample::native {

MLUOP_EXPORT_KERNEL(sample_points_kernel, sample_points, SamplePointsArgs);
MLUOP_EXPORT_KERNEL(sample_distances_kernel, sample_distances, SampleDistancesArgs);

}  // namespace mluop::furthest_point_sample::native
#endif

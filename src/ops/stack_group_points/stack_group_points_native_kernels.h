// Stack group points, native algorithm: arguments, tiles in NRAM and range kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/stack_group_points/stack_group_points.h"
#include "primitives/indices/cloud_counts.h"
#include "primitives/simd/channel_strip.h"
#include "primitives/sort/bucket_sort.h"
#include "team/launch.h"

namespace mluop::stack_group_points::native {

// Work items: (group, range of samples, range of channels), channels fastest. Transposes in NRAM the rows of
// features that a range of samples names.
struct GroupArgs : ForwardArgs {
  int64_t sample_ranges() const { return ceil_div(groups.samples, range_samples); }
  int64_t channel_ranges() const { return ceil_div(C, range_channels); }

  const CloudStarts& feature_starts;
  const CloudStarts& group_starts;
  int64_t range_samples, range_channels;
  bool stream;  // the output bypasses the caches
};
RangeKernel<GroupArgs> group_kernel(mluOpDataType_t dtype);

// T, here and below: an element type.
template <class T>
struct GroupTile {
  // Whole vectors of columns are stored.
  static constexpr int64_t kMaxLanes = 16;

  GroupTile(Arena& nram, int64_t channels, int64_t samples)
      : stride(round_up(samples, kMaxLanes)),
        rows(nram.take<const T*>("rows of features", {stride})),
        columns(nram.take<T>("transposed rows", {channels, stride})) {}

  int64_t stride;
  const T** rows;  // [stride], rows of the samples, padded with the last row
  T* columns;      // [channels, stride]
};

inline int64_t strip_count(const Args& args) { return ceil_div(args.C, kStripChannels); }

// Work items: (tile of features of a cloud, strip of channels), strips fastest. Adds the points of the groups of
// the cloud, in ascending order, to the sums of their features in NRAM, as gather points backward does, and writes
// the sums.
struct SumArgs : BackwardArgs {
  const CloudStarts& feature_starts;
  const CloudStarts& group_starts;
  const CloudStarts& tile_starts;
  int64_t tile_features;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

template <class T>
struct SumTile {
  // Samples of a run, whose indices are localized together.
  static constexpr int64_t kRunSamples = 64;

  SumTile(Arena& nram, int64_t tile_features)
      : sums(nram.take<float>("sums", {tile_features + kStripChannels, kStripChannels})),
        local_features(nram.take<int32_t>("local features", {kRunSamples})),
        edge(nram.take<float>("edge", {kStripChannels, kStripChannels})),
        rounded(nram.take<T>("rounded sums", {kStripChannels})) {}

  float* sums;              // [features + kStripChannels, kStripChannels]; the last rows collect other points
  int32_t* local_features;  // [kRunSamples], the row in `sums` of each sample
  float* edge;              // [kStripChannels, kStripChannels], the points of an incomplete square
  T* rounded;               // [kStripChannels]
};

// Backward for many tasks: sorts points, which are samples of groups, by feature. Work items: points. The first
// kernel counts them, the second places them and transposes their gradients.
struct SortArgs : BackwardArgs {
  const CloudStarts& feature_starts;
  const CloudStarts& group_starts;
  BucketSort<int32_t>& sorted;
  void* rows;  // [M, S, C], gradients of points
};
void count_points(const SortArgs& args, int64_t begin, int64_t end, Task& task);
RangeKernel<SortArgs> sort_kernel(mluOpDataType_t dtype);

}  // namespace mluop::stack_group_points::native

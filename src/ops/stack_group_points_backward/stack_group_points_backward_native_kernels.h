// Stack group points backward, native algorithm: arguments, tile in NRAM and range kernel.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/stack_group_points_backward/stack_group_points_backward_args.h"
#include "primitives/channel_strip.h"
#include "primitives/cloud_counts.h"
#include "team/launch.h"

namespace mluop::stack_group_points_backward::native {

inline int64_t strip_count(const Args& args) { return ceil_div(args.C, kStripChannels); }

// Work items: (tile of features of a cloud, strip of channels), strips fastest. Adds the points of the groups of
// the cloud, in ascending order, to the sums of their features in NRAM, as gather points backward does, and writes
// the sums.
struct SumArgs : Args {
  const CloudStarts& feature_starts;
  const CloudStarts& group_starts;
  const CloudStarts& tile_starts;
  int64_t tile_features;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

// T: float or Half.
template <class T>
struct SumTile {
  // Samples whose indices are localized at a time: a run.
  static constexpr int64_t kRunSamples = 64;

  SumTile(Arena& nram, int64_t tile_features)
      : sums(nram.take<float>("sums", {tile_features + kStripChannels, kStripChannels})),
        local_features(nram.take<int32_t>("local features", {kRunSamples})),
        edge(nram.take<float>("edge", {kStripChannels, kStripChannels})),
        rounded(nram.take<T>("rounded sums", {kStripChannels})) {}

  float* sums;              // [features + kStripChannels, kStripChannels]; the last rows take other points
  int32_t* local_features;  // [kRunSamples], the row in `sums` of each sample
  float* edge;              // [kStripChannels, kStripChannels], the points of an incomplete square
  T* rounded;               // [kStripChannels]
};

}  // namespace mluop::stack_group_points_backward::native

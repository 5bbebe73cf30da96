// Stack group points forward, native algorithm: arguments, tile in NRAM and range kernel.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/stack_group_points_forward/stack_group_points_forward_args.h"
#include "primitives/cloud_counts.h"
#include "team/launch.h"

namespace mluop::stack_group_points_forward::native {

// Work items: (group, chunk of samples, chunk of channels), channels fastest. Transposes the rows of features that
// a chunk of samples names in NRAM.
struct GroupArgs : Args {
  int64_t sample_chunks() const { return ceil_div(groups.samples, chunk_samples); }
  int64_t channel_chunks() const { return ceil_div(C, chunk_channels); }

  const CloudStarts& feature_starts;
  const CloudStarts& group_starts;
  int64_t chunk_samples, chunk_channels;
  bool stream;  // the output bypasses the caches
};
RangeKernel<GroupArgs> group_kernel(mluOpDataType_t dtype);

// T: float or Half.
template <class T>
struct GroupTile {
  // Columns of whole vectors are stored.
  static constexpr int64_t kMaxLanes = 16;

  GroupTile(Arena& nram, int64_t channels, int64_t samples)
      : stride(round_up(samples, kMaxLanes)),
        rows(nram.take<const T*>("rows of features", {stride})),
        columns(nram.take<T>("transposed rows", {channels, stride})) {}

  int64_t stride;
  const T** rows;  // [stride], of the samples, then that of the last one
  T* columns;      // [channels, stride]
};

}  // namespace mluop::stack_group_points_forward::native

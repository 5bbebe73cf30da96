// Dynamic scatter backward, native algorithm: arguments and range kernels, in the order of their launches.
//
// Letters as in the design document: N points, M voxels, C channels; V = voxel_num[0], the voxels in use.
#pragma once

#include <atomic>
#include <cstdint>

#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"
#include "ops/dynamic_scatter_backward/key_partition.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::dynamic_scatter_backward::native {

// Sum and mean. Work items: points. Reports the first point with an invalid map value or, for the mean, with a
// voxel whose count is below 1.
struct CheckArgs : Args {
  FirstBadItem& bad_point;
};
RangeKernel<CheckArgs> check_kernel();

// Sum and mean. Work items: points. Writes the gradient of the voxel (mean: divided by its count) to the row of
// the point.
struct GatherArgs : Args {
  bool stream;
};
RangeKernel<GatherArgs> gather_kernel();

// Maximum: the steps of key_partition.h, with voxels as keys; the map holds the keys.
static_assert(kNoVoxel == KeyedPoints::kNoKey);

// Work items: sampled runs. Counts their points; rank_kernel() reports invalid map values.
struct SampleArgs : Args {
  const SampledRuns& sample;
  KeyPartition& partition;
};
void sample_points(const SampleArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: chunks of points. Checks the map and computes the ranks of the points, which are incomplete if a bad
// point is reported.
struct RankArgs : Args {
  const KeyPartition& partition;
  const KeyedPoints& points;
  FirstBadItem& bad_point;
  std::atomic<bool>& any_skipped;  // set if a point has no voxel
};
RangeKernel<RankArgs> rank_kernel();

// Work items: ranks of buckets. Writes the output rows of the points of each bucket, in the order of the points:
// the gradient of a channel to the first point with the voxel's value, 0 to all others.
struct MatchArgs : Args {
  const KeyPartition& partition;
  const KeyedPoints& points;
  uint8_t* claimed;  // at most [V, max_claimed_bytes()], one bit per channel: its gradient is claimed
  int64_t tile_points;
  bool stream;
};
RangeKernel<MatchArgs> match_kernel();

// Maximum bytes of a voxel in `claimed` on any instruction set: a vector takes one bit a channel, rounded up to
// bytes; the channels that do not fill a vector take up to four shorter vectors.
constexpr int64_t max_claimed_bytes(int64_t channels) { return channels + 4; }

// The voxels of shared buckets: each task searches part of their points, and the first point found by any task
// receives the gradient.
struct SharedVoxels {
  SharedVoxels(Arena& arena, int64_t max_count, int task_dim, int64_t channels)
      : task_bytes(max_count * max_claimed_bytes(channels)),
        first_points(arena.take<int32_t>("first points", {max_count, channels})),
        claimed(arena.take<uint8_t>("claimed by tasks", {task_dim, task_bytes})) {}

  uint8_t* claimed_by(int task_id) const { return claimed + task_id * task_bytes; }

  static constexpr int32_t kNoPoint = INT32_MAX;
  int64_t task_bytes;
  int32_t* first_points;  // [shared keys, C]
  uint8_t* claimed;       // [task_dim, task_bytes], the bits of MatchArgs::claimed for the points of each task
};

struct SharedArgs : MatchArgs {
  const SharedVoxels& voxels;
};

// Work items: chunks of points. Zeroes the output rows of the points of shared buckets and finds the first points.
RangeKernel<SharedArgs> claim_shared_kernel();

// Work items: shared buckets. Writes the gradients of the first points.
void write_shared(const SharedArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: points. Zeroes the output rows of points without a voxel.
void zero_skipped(const Args& args, int64_t begin, int64_t end, Task& task);

}  // namespace mluop::dynamic_scatter_backward::native

// Voxel pooling forward, native algorithm: arguments and range kernels, in the order of their launches: the steps
// of primitives/key_partition.h, with cells as keys. Letters as in voxel_pooling_forward_args.h.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/voxel_pooling_forward_args.h"
#include "primitives/key_partition.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward::native {

static_assert(kNoCell == KeyedPoints::kNoKey);

// Work items: sampled runs. Counts their points.
struct SampleArgs : Args {
  const SampledRuns& sample;
  KeyPartition& partition;
};
RangeKernel<SampleArgs> sample_kernel();

// Work items: chunks of points. Computes the cells of the points and the ranks of these, and writes pos_memo.
struct LocateArgs : Args {
  const KeyPartition& partition;
  const KeyedPoints& points;
  int32_t* cells;  // [B, N], the keys of `points`
  int64_t tile_points;
  bool stream;
};
RangeKernel<LocateArgs> locate_kernel();

struct LocateTile {
  LocateTile(Arena& nram, int64_t points) : memo(nram.take<int32_t>("pos_memo", {points, 3})) {}
  int32_t* memo;  // [points, 3]
};

// The size of a pass, in which a task visits its points of all chunks: it computes the sums of at most `channels`
// channels of the cells of at most `ranks` consecutive buckets.
struct Pass {
  int64_t ranks, channels;
};

// Work items: ranks of buckets. Adds the feature rows of each cell in the order of the points.
struct SumArgs : Args {
  // The sums of a task.
  float* sums_of(int task_id) const { return sums + task_id * (pass.ranks << partition.shift) * pass.channels; }

  const KeyPartition& partition;
  const KeyedPoints& points;
  uint8_t* initialized;  // [B, Y, X], whether the sum of the cell is initialized
  Pass pass;
  float* sums;  // HALF: [taskDim, cells of pass.ranks, pass.channels]; FLOAT: null, output_features holds sums
  int64_t tile_points;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

// Work items: cache lines of a row. Adds their channels of the feature rows of the shared buckets.
RangeKernel<SumArgs> sum_shared_kernel(mluOpDataType_t dtype);

}  // namespace mluop::voxel_pooling_forward::native

// Voxel pooling forward: arguments and range kernels.
//
// Letters as in the design document: B batches, N points, C channels, X, Y, Z voxels. A cell is one (b, y, x) of
// the output; cells are numbered in the order of the output.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/args.h"
#include "primitives/key_partition.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward::native {

// The steps of primitives/key_partition.h, with cells as keys.
static_assert(kNoCell == KeyedPoints::kNoKey);

// Work items: sampled runs. Counts their points.
struct SampleArgs {
  const Args& call;
  const SampledRuns& sample;
  KeyPartition& partition;
};
RangeKernel<SampleArgs> sample_kernel();

// Work items: chunks of points. Computes the cells of the points and the ranks of these, and writes pos_memo.
struct LocateArgs {
  const Args& call;
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

// What a task sums at a time: `channels` channels of the cells of `ranks` consecutive buckets.
struct Chunk {
  int64_t ranks, channels;
};

// Work items: ranks of buckets. Adds the feature rows of each cell in the order of the points.
struct SumArgs {
  // The sums of a task.
  float* sums_of(int task_id) const { return sums + task_id * (chunk.ranks << partition.shift) * chunk.channels; }

  const Args& call;
  const KeyPartition& partition;
  const KeyedPoints& points;
  uint8_t* initialized;  // [B, Y, X], whether the sum of the cell is initialized
  Chunk chunk;
  float* sums;  // HALF: [taskDim, cells of chunk.ranks, chunk.channels]; FLOAT: null, output_features holds sums
  int64_t tile_points;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

// Work items: cache lines of a row. Adds their channels of the feature rows of the shared buckets.
RangeKernel<SumArgs> sum_shared_kernel(mluOpDataType_t dtype);

}  // namespace mluop::voxel_pooling_forward::native

// Voxel pooling forward: arguments and range kernels.
//
// Letters as in the design document: B batches, N points, C channels, X, Y, Z voxels. A cell is one (b, y, x) of
// the output; cells are numbered in the order of the output.
#pragma once

#include <cstdint>

#include "primitives/key_partition.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward {

// The arguments of the call, checked.
struct Args {
  int64_t total_points() const { return int64_t{batch_size} * num_points; }
  int64_t cell_count() const { return int64_t{batch_size} * num_voxel_y * num_voxel_x; }
  int64_t row_bytes() const { return num_channels * int64_t{sizeof(float)}; }

  int32_t batch_size, num_points, num_channels;
  int32_t num_voxel_x, num_voxel_y, num_voxel_z;
  const int32_t* geom_xyz;      // [B, N, 3]
  const float* input_features;  // [B, N, C]
  float* output_features;       // [B, Y, X, C]
  int32_t* pos_memo;            // [B, N, 3]
};

// Deterministic mode: the steps of primitives/key_partition.h, with cells as keys.

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

// Work items: ranks of buckets. Adds the feature rows of each cell in the order of the points.
struct SumArgs {
  const Args& call;
  const KeyPartition& partition;
  const KeyedPoints& points;
  uint8_t* initialized;  // [B, Y, X], whether the cell's output row holds a sum
  int64_t tile_points;
};
RangeKernel<SumArgs> sum_kernel();

// Atomics mode. Work items: points. For each tile: locates the points, adds the rows of those that share a cell in
// NRAM, and adds each sum to the output with atomics. The output is zero before.
struct AtomicArgs {
  const Args& call;
  int64_t tile_points;
  int64_t tile_channels;
};
RangeKernel<AtomicArgs> atomic_kernel();

}  // namespace mluop::voxel_pooling_forward

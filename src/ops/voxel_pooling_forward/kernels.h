// Voxel pooling forward: the range kernels.
//
// Letters as in the design document: B batches, N points, C channels, X, Y, Z voxels. A cell is one (b, y, x)
// of the output; cells are counted in the order of the output.
#pragma once

#include <cstdint>

#include "primitives/key_order.h"
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

// Deterministic mode: the keys of primitives/key_order.h are cells, its items points.

// Items: stretches of the sample. Counts their points.
struct SampleArgs {
  const Args& call;
  const KeySample& sample;
  const KeyOrder& order;
};
RangeKernel<SampleArgs> sample_kernel();

// Items: blocks of points. Finds the cells of the points and the ranks of the blocks, and writes pos_memo.
struct LocateArgs {
  const Args& call;
  const KeyOrder& order;
  const KeyedItems& points;
  int32_t* cells;       // [B, N], the keys of points
  int32_t tile_points;  // whole blocks
  bool stream;
};
RangeKernel<LocateArgs> locate_kernel();

// Items: ranks of tiles. Adds up the rows of the points of each cell of the tiles, in the order of the points.
struct SumArgs {
  const Args& call;
  const KeyOrder& order;
  const KeyedItems& points;
  uint8_t* begun;  // [B, Y, X], whether a cell has a sum yet; 0 before
  int32_t tile_points;
};
RangeKernel<SumArgs> sum_kernel();

// Atomics mode, items: points. Per tile: locates the points, adds up in NRAM the rows of those that share a cell,
// and adds each sum to the output with atomics. The output is zero before.
struct AtomicArgs {
  const Args& call;
  int32_t tile_points;
  int32_t tile_channels;
};
RangeKernel<AtomicArgs> atomic_kernel();

}  // namespace mluop::voxel_pooling_forward

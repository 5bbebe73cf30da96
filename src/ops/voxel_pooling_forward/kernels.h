// Voxel pooling forward: the range kernels.
//
// Letters as in the design document: B batches, N points, C channels, X, Y, Z voxels. A cell is one (b, y, x)
// of the output; cells are counted in the order of the output.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/grid.h"
#include "primitives/group.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward {

// The arguments of the call, checked.
struct Args {
  int64_t total_points() const { return int64_t{batch_size} * num_points; }
  int64_t cell_count() const { return int64_t{batch_size} * num_voxel_y * num_voxel_x; }

  int32_t batch_size, num_points, num_channels;
  int32_t num_voxel_x, num_voxel_y, num_voxel_z;
  const int32_t* geom_xyz;      // [B, N, 3]
  const float* input_features;  // [B, N, C]
  float* output_features;       // [B, Y, X, C]
  int32_t* pos_memo;            // [B, N, 3]
};

// Deterministic mode, items: points. Writes pos_memo, and appends each point to the group of its tile; a point out
// of range to none.
struct LocateArgs {
  const Args& call;
  const Grid& grid;
  const Group& points;
  int32_t tile_points;
  bool stream;
};
RangeKernel<LocateArgs> locate_kernel();

// Deterministic mode, items: tiles. Adds the rows of a tile's points, in the order of the points, to the tile's
// cells in NRAM, which are then the output. Tiles are what makes it fast: the rows of a tile lie in stretches in
// memory, which those of a single cell need not.
struct SumArgs {
  const Args& call;
  const Grid& grid;
  const Group& points;
  int32_t tile_channels;
  bool stream;
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

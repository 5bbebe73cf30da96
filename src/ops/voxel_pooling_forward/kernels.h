// Voxel pooling forward: the range kernels.
//
// Letters as in the design document: B batches, N points, C channels, X, Y, Z voxels. A cell is one (b, y, x)
// of the output; cells are counted in the order of the output.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sizes.h"
#include "ops/voxel_pooling_forward/cell_order.h"
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

// Deterministic mode: where the points are. Points are looked at in blocks, so that a task can pass over those in
// which it owns nothing.
struct Located {
  // The numbers of cells, by CellOrder, that occur in a block; if none does, highest < lowest.
  struct Block {
    uint32_t lowest, highest;
  };
  static constexpr int64_t kBlockPoints = 64;
  static constexpr uint32_t kNowhere = UINT32_MAX;

  int64_t block_count(const Args& call) const { return ceil_div(call.total_points(), kBlockPoints); }

  uint32_t* numbers;  // [points], of the cell; kNowhere for a point out of range
  Block* blocks;      // [block_count]
};

// Items: stretches of the sample. Adds up counts and positions of the tiles.
struct SampleArgs {
  const Args& call;
  const Sample& sample;
  const CellOrder& order;
};
RangeKernel<SampleArgs> sample_kernel();

// Items: blocks of points. Locates the points, and writes pos_memo.
struct LocateArgs {
  const Args& call;
  const CellOrder& order;
  const Located& located;
  int32_t tile_points;  // whole blocks
  bool stream;
};
RangeKernel<LocateArgs> locate_kernel();

// Items: ranks of tiles. Adds the rows of the points in the tiles, in the order of the points, to the output.
struct SumArgs {
  const Args& call;
  const CellOrder& order;
  const Located& located;
  int32_t tile_points;
};
RangeKernel<SumArgs> sum_kernel();

// The points that sum_kernel() holds in NRAM: those of a tile, and a block that waits for its rows.
constexpr int64_t list_capacity(int32_t tile_points) { return tile_points + Located::kBlockPoints; }

// Bytes of NRAM that either kernel takes.
constexpr size_t located_tile_bytes(int32_t tile_points) {
  return std::max(nram_bytes<int32_t>(size_t{3} * tile_points),
                  2 * nram_bytes<int32_t>(static_cast<size_t>(list_capacity(tile_points))));
}

// Atomics mode, items: points. Per tile: locates the points, adds up in NRAM the rows of those that share a cell,
// and adds each sum to the output with atomics. The output is zero before.
struct AtomicArgs {
  const Args& call;
  int32_t tile_points;
  int32_t tile_channels;
};
RangeKernel<AtomicArgs> atomic_kernel();

}  // namespace mluop::voxel_pooling_forward

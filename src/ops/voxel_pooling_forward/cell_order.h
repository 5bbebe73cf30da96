// Voxel pooling forward, deterministic mode: the order of the cells in which tasks divide them.
//
// A task that owns cells reads the features of their points, in the order of the points. It reads fast where those
// points lie together in memory. So cells are renumbered: tiles of neighbouring cells stand in the order of the
// mean position of their points, and a task owns a stretch of the new numbers. On frustums of cameras such a
// stretch is what some depths of a camera see, and the points are stretches of memory; on points in any order it
// is as good as any. A sample of the points decides: results do not depend on the order, for each cell has one
// owner.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/workspace_layout.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward {

// Which points are looked at: every step-th of the stretches of kPoints that memory holds.
struct Sample {
  Sample(int64_t total_points, int tasks);

  int64_t first_point(int64_t stretch) const { return stretch * step * kPoints; }

  static constexpr int64_t kPoints = 4;
  int64_t step;
  int64_t stretches;
  int task_dim;  // of the launch that looks at them; each task has a stretch
};

// Where the parts of an order lie in a workspace.
struct CellOrderLayout {
  CellOrderLayout(WorkspaceLayout& workspace, int64_t cells, const Sample& sample);

  int64_t cell_count;
  int shift;
  int32_t tile_count;
  int sample_task_dim;
  size_t counts, positions, buckets, ranks, tiles, costs_before;  // offsets
};

// A cell's number is the rank of its tile, and its place there.
struct CellOrder {
  CellOrder(const CellOrderLayout& layout, std::byte* workspace);

  // Zeroes what a task counts: before it looks at the sample.
  void clear(int task_id) const;
  // Decides from what the tasks have counted.
  void decide(Context& context, const Sample& sample) const;

  int32_t* counts_of(int task_id) const { return counts + int64_t{task_id} * tile_count; }
  int64_t* positions_of(int task_id) const { return positions + int64_t{task_id} * tile_count; }

  int64_t cell_of(uint32_t number) const {
    const uint32_t place = number & ((uint32_t{1} << shift) - 1);
    return (int64_t{tiles[number >> shift]} << shift) + place;
  }
  // The cells of a tile.
  Range cells(int32_t tile) const {
    return {int64_t{tile} << shift, std::min((int64_t{tile} + 1) << shift, cell_count)};
  }

  int64_t cell_count;
  int shift;           // log2 of the cells of a tile
  int32_t tile_count;  // a tile is cell >> shift

  int sample_task_dim;

  int32_t* counts;        // [sample_task_dim][tile_count], points of the sample; in the first row, at last, of all
  int64_t* positions;     // [sample_task_dim][tile_count], the sum of their stretches
  int32_t* buckets;       // [stretches + 1]
  int32_t* ranks;         // [tile_count], of each tile
  int32_t* tiles;         // [tile_count], of each rank
  int64_t* costs_before;  // [tile_count + 1], of all tiles of lower rank; the cost of a point is 1
};

// Divides the ranks so that each task gets the same share of the cost.
struct ByCost {
  const CellOrder& order;
  Range operator()(int task_dim, int task_id) const {
    return split_cost(order.tile_count, task_dim, task_id, [&](int64_t rank) { return order.costs_before[rank]; });
  }
};

}  // namespace mluop::voxel_pooling_forward

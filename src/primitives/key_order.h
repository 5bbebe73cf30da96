// Which task owns which keys, for operators whose items (points) add to what a key (cell, voxel) names: their
// deterministic mode rests on it. Each key has one owner, who visits the items of its keys in their order.
//
// A task that owns keys reads the data of their items, and does so fast where these lie together in memory. So
// tiles of neighbouring keys are ranked by the mean position of their items, and a task owns the tiles of a
// stretch of ranks. On a frustum of a camera such a stretch is what some depths see, on a
// scan of a LiDAR what lies in some directions, and their items are stretches of memory; on items in any order it
// is as good as any. A sample of the items decides: no result depends on it.
//
// Steps, each a launch:
//   1. over the stretches of a sample, the operator's own kernel calls clear() and then count() for each item
//   2. decide() orders the tiles
//   3. over the blocks of KeyedItems, the operator's own kernel calls rank_block() (key_order-inl.h)
//   4. over the ranks of tiles, divided by ByCost, the operator's own kernel calls visit_owned()
// Cost: 8 bytes for each block of items, and 12 bytes for each tile and task.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sizes.h"
#include "core/workspace_layout.h"
#include "team/fit_tile.h"
#include "team/launch.h"

namespace mluop {

// Which items are looked at first: every step-th of the stretches of kItems that memory holds.
struct KeySample {
  KeySample(int64_t item_count, int tasks);

  // The items of a stretch.
  Range items(int64_t stretch) const {
    const int64_t first = stretch * step * kItems;
    return {first, std::min(first + kItems, item_count)};
  }

  static constexpr int64_t kItems = 4;
  int64_t item_count;
  int64_t step;
  int64_t stretches;
  int task_dim;  // of the launch that looks at them; each task has a stretch
};

// Where the parts of an order lie in a workspace.
struct KeyOrderLayout {
  KeyOrderLayout(WorkspaceLayout& workspace, int64_t keys, const KeySample& sample);

  int64_t key_count;
  int shift;
  int32_t tile_count;
  int sample_task_dim;
  size_t counts, positions, buckets, ranks, tiles, costs_before;  // offsets
};

// Which tile has which rank. The keys of tile t are those whose key >> shift is t.
struct KeyOrder {
  KeyOrder(const KeyOrderLayout& layout, std::byte* workspace);

  // Zeroes what a task counts: before it looks at the sample.
  void clear(int task_id) const;
  void count(int task_id, int64_t key, int64_t stretch) const {
    const int64_t tile = int64_t{task_id} * tile_count + (key >> shift);
    ++counts[tile];
    positions[tile] += stretch;
  }
  // Decides from what the tasks have counted.
  void decide(Context& context, const KeySample& sample) const;

  // The keys of a tile.
  Range keys(int32_t tile) const {
    return {int64_t{tile} << shift, std::min((int64_t{tile} + 1) << shift, key_count)};
  }

  int64_t key_count;
  int shift;           // log2 of the keys of a tile
  int32_t tile_count;  // a tile is key >> shift
  int sample_task_dim;

  int32_t* counts;        // [sample_task_dim][tile_count], items of the sample; in the first row, at last, of all
  int64_t* positions;     // [sample_task_dim][tile_count], the sum of their stretches
  int32_t* buckets;       // [stretches + 1]
  int32_t* ranks;         // [tile_count], of each tile
  int32_t* tiles;         // [tile_count], of each rank
  int64_t* costs_before;  // [tile_count + 1], of all tiles of lower rank
};

// Divides the ranks so that each task gets the same share of the cost.
struct ByCost {
  const KeyOrder& order;
  Range operator()(int task_dim, int task_id) const {
    return split_cost(order.tile_count, task_dim, task_id, [&](int64_t rank) { return order.costs_before[rank]; });
  }
};

// The keys of all items. They are looked at in blocks, so that a task can pass over those in which it owns
// nothing.
struct KeyedItems {
  static constexpr int64_t kBlockItems = 64;
  static constexpr int32_t kNoKey = -1;

  // The ranks that occur in a block; if none does, highest < lowest.
  struct Block {
    int32_t lowest, highest;
  };

  static int64_t block_count(int64_t item_count) { return ceil_div(item_count, kBlockItems); }

  Range block_items(int64_t block) const {
    return {block * kBlockItems, std::min((block + 1) * kBlockItems, item_count)};
  }

  int64_t item_count;
  const int32_t* keys;  // [item_count], kNoKey for an item without key
  Block* blocks;        // [block_count]
};

// Items that wait to be visited, in NRAM: those of a tile, and a block whose data are on their way into the cache.
struct OwnedList {
  OwnedList(Nram& nram, int32_t tile_items)
      : capacity(room(tile_items)),
        items(nram.take<int32_t>(static_cast<size_t>(capacity))),
        keys(nram.take<int32_t>(static_cast<size_t>(capacity))) {}

  // What the constructor takes.
  static constexpr size_t bytes(int32_t tile_items) {
    return 2 * nram_bytes<int32_t>(static_cast<size_t>(room(tile_items)));
  }
  static constexpr int64_t room(int32_t tile_items) { return tile_items + KeyedItems::kBlockItems; }

  int64_t capacity;
  int32_t* items;
  int32_t* keys;
  int64_t count = 0;
};

// The items of a tile: as many whole blocks as fit NRAM, up to a number beyond which more gain nothing.
// bytes(items) says what a kernel takes for them. Throws Failure with ALLOC_FAILED if not even one block fits.
template <class Bytes>
int32_t fit_blocks(const Context& context, const Bytes& bytes) {
  constexpr int32_t kMaxBlocks = 16;
  constexpr auto kItems = static_cast<int32_t>(KeyedItems::kBlockItems);
  return kItems * fit_tile(context, kMaxBlocks, [&](int32_t blocks) { return bytes(blocks * kItems); });
}

}  // namespace mluop

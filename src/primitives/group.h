// Stable grouping of items by key, in parallel: a counting sort that keeps the order of equal keys. The
// deterministic mode of the operators rests on it: the items of a key have one owner and one order.
//
// It moves runs, stretches of consecutive items with the same key, not single items: neighbours in the input often
// share a key, and a run is also contiguous in memory for whoever reads the items.
//
// Steps, each a launch over the same task_dim tasks:
//   1. the operator's own kernel calls clear() and then, tile by tile, append() (group-inl.h) with the keys of its
//      items, all of them in order
//   2. group_by_key() turns the counts into starts and writes the order
// Cost: 16 bytes an item, and task_dim x (keys + 1) x 4 bytes of counts, which group_task_dim() keeps below
// 16 bytes an item.
#pragma once

#include <cstdint>

#include "core/workspace_layout.h"
#include "team/launch.h"

namespace mluop {

// Items [first, first + count).
struct Run {
  int32_t first;
  int32_t count;
};

// Where the parts of a grouping lie in a workspace. Items and keys are below 2^31.
struct GroupLayout {
  // Appends the buffers to `workspace`.
  GroupLayout(WorkspaceLayout& workspace, int64_t item_count, int32_t key_count, int task_dim);

  int64_t item_count;
  int32_t key_count;
  int task_dim;
  size_t starts, runs, run_keys, run_firsts, run_counts, counts, chunk_totals;  // offsets
};

// A grouping in memory. A key is in [0, key_count]; key_count itself says that an item belongs to no group.
struct Group {
  Group(const GroupLayout& layout, std::byte* workspace);

  // Zeroes what a task counts: before its first append().
  void clear(int task_id) const;

  int32_t* counts_of(int task_id) const { return counts + int64_t{task_id} * (key_count + 1); }
  Range items_of(int task_id) const { return split(item_count, task_dim, task_id); }

  int64_t item_count;
  int32_t key_count;
  int task_dim;

  // The result. The items of key k are at the places [starts[k], starts[k + 1]): runs[starts[k]] is its first run
  // and takes as many places as it has items; the next run follows behind it.
  int32_t* starts;  // [key_count + 1]
  Run* runs;        // [item_count]

  // On the way there. The runs of a task begin at the task's first item.
  int32_t* run_keys;      // [item_count]
  int32_t* run_firsts;    // [item_count]
  int32_t* run_counts;    // [task_dim]
  int32_t* counts;        // [task_dim][key_count + 1], items of a key, then the place of its next run
  int32_t* chunk_totals;  // [task_dim]
};

// Elements of padding on either side of the keys of a tile, for vectors that reach beyond it.
inline constexpr int32_t kGroupTilePadding = 16;

// Bytes of NRAM that a GroupTile (group-inl.h) of `items` items takes.
constexpr size_t group_tile_bytes(size_t items) {
  return nram_bytes<int32_t>(items + size_t{2} * kGroupTilePadding) + nram_bytes<int32_t>(items + kGroupTilePadding);
}

// The most tasks, up to task_dim, whose counts stay small beside the items.
int group_task_dim(int64_t item_count, int32_t key_count, int task_dim);

// Writes starts and runs.
void group_by_key(Context& context, const Group& group);

// Divides the keys so that each task gets the same share of items and keys together.
struct ByItems {
  const Group& group;
  Range operator()(int task_dim, int task_id) const;
};

}  // namespace mluop

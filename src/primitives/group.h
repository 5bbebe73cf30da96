// Stable grouping of items by key, in parallel: a counting sort that keeps the order of equal keys. The
// deterministic mode of the operators rests on it: the items of a group have one owner and one order.
//
// It moves runs, stretches of consecutive items with the same key, not single items: neighbours in the input
// often share a key, and a run is also contiguous in memory for whoever reads the items. With a shift, keys that
// differ in their lowest `shift` bits alone form one group, in which all items keep their order.
//
// Steps, each a launch over the same task_dim tasks:
//   1. the operator's own kernel calls clear() and then, tile by tile, append() (group-inl.h) with the keys of
//      its items, all of them in order
//   2. group_by_key() turns the counts into starts and writes the runs of each group
// Cost: 24 bytes an item, and task_dim x groups x 4 bytes of counts, which group_task_dim() keeps below
// 16 bytes an item.
#pragma once

#include <cstdint>

#include "primitives/counting.h"

namespace mluop {

// Items [first, first + count), all of which have this key.
struct Run {
  int32_t first;
  int32_t count;
  int32_t key;
};

// Where the parts of a grouping lie in a workspace. Items and keys are below 2^31.
struct GroupLayout {
  // Appends the buffers to `workspace`.
  GroupLayout(WorkspaceLayout& workspace, int64_t item_count, int32_t group_count, int task_dim, int shift = 0);

  CountingLayout counting;
  int shift;
  size_t runs, found, found_counts;  // offsets
};

// A grouping in memory. An item with key k is in group k >> shift, which is in [0, group_count); items with the
// key no_group() are left out.
struct Group : Counting {
  Group(const GroupLayout& layout, std::byte* workspace);

  // Zeroes what a task counts: before its first append().
  void clear(int task_id) const;

  int32_t no_group() const { return group_count << shift; }

  int shift;

  // The result. The first run of group g is runs[starts[g]] and takes as many places as it has items; the next run
  // follows behind it.
  Run* runs;  // [item_count]

  // On the way there.
  Run* found;             // [item_count], the runs of each task; they begin at the place of the task's first item
  int32_t* found_counts;  // [task_dim]
};

// Elements of padding on either side of the keys of a tile, for vectors that reach beyond it.
inline constexpr int32_t kGroupTilePadding = 16;

// Bytes of NRAM that a GroupTile (group-inl.h) of `items` items takes.
constexpr size_t group_tile_bytes(size_t items) {
  return nram_bytes<int32_t>(items + size_t{2} * kGroupTilePadding) +
         2 * nram_bytes<int32_t>(items + kGroupTilePadding);
}

// Writes starts and runs.
void group_by_key(Context& context, const Group& group);

}  // namespace mluop

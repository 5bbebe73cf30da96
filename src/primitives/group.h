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

#include "core/workspace_layout.h"
#include "team/launch.h"

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

  int64_t item_count;
  int32_t group_count;
  int task_dim;
  int shift;
  size_t starts, runs, found, found_counts, counts, chunk_totals;  // offsets
};

// A grouping in memory. An item with key k is in group k >> shift, which is in [0, group_count); items with the
// key no_group() are left out.
struct Group {
  Group(const GroupLayout& layout, std::byte* workspace);

  // Zeroes what a task counts: before its first append().
  void clear(int task_id) const;

  int32_t* counts_of(int task_id) const { return counts + int64_t{task_id} * group_count; }
  Range items_of(int task_id) const { return split(item_count, task_dim, task_id); }
  int32_t no_group() const { return group_count << shift; }

  int64_t item_count;
  int32_t group_count;
  int task_dim;
  int shift;

  // The result. The items of group g are at the places [starts[g], starts[g + 1]): runs[starts[g]] is its first
  // run and takes as many places as it has items; the next run follows behind it.
  int32_t* starts;  // [group_count + 1]
  Run* runs;        // [item_count]

  // On the way there.
  Run* found;             // [item_count], the runs of each task; they begin at the place of the task's first item
  int32_t* found_counts;  // [task_dim]
  int32_t* counts;        // [task_dim][group_count], items of a group, then the place of its next run
  int32_t* chunk_totals;  // [task_dim]
};

// Elements of padding on either side of the keys of a tile, for vectors that reach beyond it.
inline constexpr int32_t kGroupTilePadding = 16;

// Bytes of NRAM that a GroupTile (group-inl.h) of `items` items takes.
constexpr size_t group_tile_bytes(size_t items) {
  return nram_bytes<int32_t>(items + size_t{2} * kGroupTilePadding) +
         2 * nram_bytes<int32_t>(items + kGroupTilePadding);
}

// The most tasks, up to task_dim, that have items each and whose counts stay small beside the items.
int group_task_dim(int64_t item_count, int32_t group_count, int task_dim);

// Writes starts and runs.
void group_by_key(Context& context, const Group& group);

// Divides the groups so that each task gets the same share of the work, where a group costs as much as its items
// and group_cost items more.
struct ByItems {
  const Group& group;
  int64_t group_cost = 1;
  Range operator()(int task_dim, int task_id) const;
};

}  // namespace mluop

// The heart of a stable counting sort in parallel: from how many items of each group each task has seen, to where
// in the sorted order the items of a task go. Used where items are sorted as they are (one number an item
// suffices).
//
// Steps, each a launch over the same task_dim tasks:
//   1. the operator's own kernel calls clear() and then counts its items in counts_of(taskId)
//   2. find_places() turns counts into starts and places
//   3. a kernel over the same items again, in the same order, puts each to counts_of(taskId)[its group]++
// Cost: task_dim x groups x 4 bytes, which group_task_dim() keeps below 16 bytes an item.
#pragma once

#include <cstdint>

#include "core/workspace_layout.h"
#include "team/launch.h"

namespace mluop {

// Where the parts of a counting lie in a workspace. Items and groups are below 2^31.
struct CountingLayout {
  // Appends the buffers to `workspace`.
  CountingLayout(WorkspaceLayout& workspace, int64_t item_count, int32_t group_count, int task_dim);

  int64_t item_count;
  int32_t group_count;
  int task_dim;
  size_t starts, counts, chunk_totals;  // offsets
};

struct Counting {
  Counting(const CountingLayout& layout, std::byte* workspace);

  // Zeroes what a task counts: before it counts its first item.
  void clear(int task_id) const;

  int32_t* counts_of(int task_id) const { return counts + int64_t{task_id} * group_count; }
  Range items_of(int task_id) const { return split(item_count, task_dim, task_id); }

  int64_t item_count;
  int32_t group_count;
  int task_dim;

  // The result: the items of group g are at the places [starts[g], starts[g + 1]).
  int32_t* starts;  // [group_count + 1]

  // On the way there.
  int32_t* counts;        // [task_dim][group_count], items of a group, then the place of its next item
  int32_t* chunk_totals;  // [task_dim]
};

// The most tasks, up to task_dim, that have items each and whose counts stay small beside the items.
int group_task_dim(int64_t item_count, int32_t group_count, int task_dim);

// Writes starts, and turns counts into places: group by group, and within a group task by task.
void find_places(Context& context, const Counting& counting);

// Divides the groups so that each task gets the same share of the work, where a group costs as much as its items
// and group_cost items more.
struct ByItems {
  const Counting& groups;
  int64_t group_cost = 1;
  Range operator()(int task_dim, int task_id) const;
};

}  // namespace mluop

#include "primitives/group.h"

#include <algorithm>

namespace mluop {
namespace {

// Items: groups. How many items a chunk of groups holds.
void total_chunk(const Group& group, int64_t begin, int64_t end, Task& task) {
  int32_t total = 0;
  for (int t = 0; t < group.task_dim; ++t) {
    const int32_t* counts = group.counts_of(t);
    for (int64_t g = begin; g < end; ++g) total += counts[g];
  }
  group.chunk_totals[task.taskId] = total;
}

// Items: groups. Turns counts into places: group by group, and within a group task by task.
void place_chunk(const Group& group, int64_t begin, int64_t end, Task& task) {
  int32_t place = 0;
  for (int t = 0; t < task.taskId; ++t) place += group.chunk_totals[t];
  for (int64_t g = begin; g < end; ++g) {
    group.starts[g] = place;
    for (int t = 0; t < group.task_dim; ++t) {
      int32_t& count = group.counts_of(t)[g];
      const int32_t next = place + count;
      count = place;
      place = next;
    }
  }
  if (end == group.group_count) group.starts[end] = place;
}

// Items: the grouped items.
void order_runs(const Group& group, int64_t begin, int64_t, Task& task) {
  int32_t* places = group.counts_of(task.taskId);
  const Run* found = group.found + begin;
  const int32_t count = group.found_counts[task.taskId];
  for (int32_t i = 0; i < count; ++i) {
    const Run run = found[i];
    int32_t& place = places[run.key >> group.shift];
    group.runs[place] = run;
    place += run.count;
  }
}

}  // namespace

GroupLayout::GroupLayout(WorkspaceLayout& workspace, int64_t items, int32_t groups, int tasks, int key_shift)
    : item_count(items),
      group_count(groups),
      task_dim(tasks),
      shift(key_shift),
      starts(workspace.add<int32_t>(int64_t{groups} + 1)),
      runs(workspace.add<Run>(items)),
      found(workspace.add<Run>(items)),
      found_counts(workspace.add<int32_t>(tasks)),
      counts(workspace.add<int32_t>(int64_t{groups} * tasks)),
      chunk_totals(workspace.add<int32_t>(tasks)) {}

Group::Group(const GroupLayout& layout, std::byte* workspace)
    : item_count(layout.item_count),
      group_count(layout.group_count),
      task_dim(layout.task_dim),
      shift(layout.shift),
      starts(at<int32_t>(workspace, layout.starts)),
      runs(at<Run>(workspace, layout.runs)),
      found(at<Run>(workspace, layout.found)),
      found_counts(at<int32_t>(workspace, layout.found_counts)),
      counts(at<int32_t>(workspace, layout.counts)),
      chunk_totals(at<int32_t>(workspace, layout.chunk_totals)) {}

void Group::clear(int task_id) const {
  found_counts[task_id] = 0;
  std::fill_n(counts_of(task_id), group_count, 0);
}

int group_task_dim(int64_t item_count, int32_t group_count, int task_dim) {
  const int64_t most = std::min(item_count, 4 * item_count / std::max(group_count, 1));
  return static_cast<int>(std::clamp<int64_t>(most, 1, task_dim));
}

void group_by_key(Context& context, const Group& group) {
  // A task without items did not run, so it has cleared nothing.
  for (int t = 0; t < group.task_dim; ++t) {
    if (group.items_of(t).size() == 0) group.clear(t);
  }
  const Evenly groups{group.group_count};
  const int64_t count_bytes = int64_t{group.group_count} * group.task_dim * int64_t{sizeof(int32_t)};
  const int chunk_dim = std::min(choose_task_dim(group.group_count, count_bytes), group.task_dim);
  launch(context, chunk_dim, groups, total_chunk, group);
  launch(context, chunk_dim, groups, place_chunk, group);
  launch(context, group.task_dim, Evenly{group.item_count}, order_runs, group);
}

Range ByItems::operator()(int task_dim, int task_id) const {
  return split_cost(group.group_count, task_dim, task_id,
                    [&](int64_t g) { return group.starts[g] + g * group_cost; });
}

}  // namespace mluop

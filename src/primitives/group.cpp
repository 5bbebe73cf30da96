#include "primitives/group.h"

namespace mluop {
namespace {

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
    : counting(workspace, items, groups, tasks),
      shift(key_shift),
      runs(workspace.add<Run>(items)),
      found(workspace.add<Run>(items)),
      found_counts(workspace.add<int32_t>(tasks)) {}

Group::Group(const GroupLayout& layout, std::byte* workspace)
    : Counting(layout.counting, workspace),
      shift(layout.shift),
      runs(at<Run>(workspace, layout.runs)),
      found(at<Run>(workspace, layout.found)),
      found_counts(at<int32_t>(workspace, layout.found_counts)) {}

void Group::clear(int task_id) const {
  found_counts[task_id] = 0;
  Counting::clear(task_id);
}

void group_by_key(Context& context, const Group& group) {
  // A task without items did not run, so it has cleared nothing.
  for (int t = 0; t < group.task_dim; ++t) {
    if (group.items_of(t).size() == 0) group.found_counts[t] = 0;
  }
  find_places(context, group);
  launch(context, group.task_dim, Evenly{group.item_count}, order_runs, group);
}

}  // namespace mluop

#include "primitives/group.h"

#include <algorithm>

namespace mluop {
namespace {

// Items: keys. How many items a chunk of keys holds.
void total_chunk(const Group& group, int64_t begin, int64_t end, Task& task) {
  int32_t total = 0;
  for (int t = 0; t < group.task_dim; ++t) {
    const int32_t* counts = group.counts_of(t);
    for (int64_t key = begin; key < end; ++key) total += counts[key];
  }
  group.chunk_totals[task.taskId] = total;
}

// Items: keys. Turns counts into places: key by key, and within a key task by task.
void place_chunk(const Group& group, int64_t begin, int64_t end, Task& task) {
  int32_t place = 0;
  for (int t = 0; t < task.taskId; ++t) place += group.chunk_totals[t];
  for (int64_t key = begin; key < end; ++key) {
    group.starts[key] = place;
    for (int t = 0; t < group.task_dim; ++t) {
      int32_t& count = group.counts_of(t)[key];
      const int32_t next = place + count;
      count = place;
      place = next;
    }
  }
}

// Items: the grouped items. Runs without group go behind all others: no branch to mispredict.
void order_runs(const Group& group, int64_t begin, int64_t end, Task& task) {
  int32_t* places = group.counts_of(task.taskId);
  const int32_t* keys = group.run_keys + begin;
  const int32_t* firsts = group.run_firsts + begin;
  const int32_t count = group.run_counts[task.taskId];
  for (int32_t run = 0; run < count; ++run) {
    const int32_t next = run + 1 < count ? firsts[run + 1] : static_cast<int32_t>(end);
    int32_t& place = places[keys[run]];
    group.runs[place] = {firsts[run], next - firsts[run]};
    place += next - firsts[run];
  }
}

}  // namespace

GroupLayout::GroupLayout(WorkspaceLayout& workspace, int64_t items, int32_t keys, int tasks)
    : item_count(items),
      key_count(keys),
      task_dim(tasks),
      starts(workspace.add<int32_t>(int64_t{keys} + 1)),
      runs(workspace.add<Run>(items)),
      run_keys(workspace.add<int32_t>(items)),
      run_firsts(workspace.add<int32_t>(items)),
      run_counts(workspace.add<int32_t>(tasks)),
      counts(workspace.add<int32_t>((int64_t{keys} + 1) * tasks)),
      chunk_totals(workspace.add<int32_t>(tasks)) {}

Group::Group(const GroupLayout& layout, std::byte* workspace)
    : item_count(layout.item_count),
      key_count(layout.key_count),
      task_dim(layout.task_dim),
      starts(at<int32_t>(workspace, layout.starts)),
      runs(at<Run>(workspace, layout.runs)),
      run_keys(at<int32_t>(workspace, layout.run_keys)),
      run_firsts(at<int32_t>(workspace, layout.run_firsts)),
      run_counts(at<int32_t>(workspace, layout.run_counts)),
      counts(at<int32_t>(workspace, layout.counts)),
      chunk_totals(at<int32_t>(workspace, layout.chunk_totals)) {}

void Group::clear(int task_id) const {
  run_counts[task_id] = 0;
  std::fill_n(counts_of(task_id), int64_t{key_count} + 1, 0);
}

int group_task_dim(int64_t item_count, int32_t key_count, int task_dim) {
  return static_cast<int>(std::clamp<int64_t>(4 * item_count / (int64_t{key_count} + 1), 1, task_dim));
}

void group_by_key(Context& context, const Group& group) {
  // The key of items without group is placed like the others, and last.
  const Evenly keys{int64_t{group.key_count} + 1};
  std::fill_n(group.chunk_totals, group.task_dim, 0);
  launch(context, group.task_dim, keys, total_chunk, group);
  launch(context, group.task_dim, keys, place_chunk, group);
  launch(context, group.task_dim, Evenly{group.item_count}, order_runs, group);
}

Range ByItems::operator()(int task_dim, int task_id) const {
  // The first key at which `share` of items and keys have passed; starts[k] + k grows with k.
  const auto boundary = [&](int64_t share) {
    int64_t low = 0;
    int64_t high = group.key_count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (group.starts[middle] + middle < share) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const int64_t total = int64_t{group.starts[group.key_count]} + group.key_count;
  const Range shares = split(total, task_dim, task_id);
  return {task_id == 0 ? 0 : boundary(shares.begin),
          task_id == task_dim - 1 ? group.key_count : boundary(shares.end)};
}

}  // namespace mluop

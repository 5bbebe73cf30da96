#include "primitives/counting.h"

#include <algorithm>

namespace mluop {
namespace {

// Items: groups. How many items a chunk of groups holds.
void total_chunk(const Counting& counting, int64_t begin, int64_t end, Task& task) {
  int32_t total = 0;
  for (int t = 0; t < counting.task_dim; ++t) {
    const int32_t* counts = counting.counts_of(t);
    for (int64_t g = begin; g < end; ++g) total += counts[g];
  }
  counting.chunk_totals[task.taskId] = total;
}

// Items: groups. Turns their counts into places.
void place_chunk(const Counting& counting, int64_t begin, int64_t end, Task& task) {
  int32_t place = 0;
  for (int t = 0; t < task.taskId; ++t) place += counting.chunk_totals[t];
  for (int64_t g = begin; g < end; ++g) {
    counting.starts[g] = place;
    for (int t = 0; t < counting.task_dim; ++t) {
      int32_t& count = counting.counts_of(t)[g];
      const int32_t next = place + count;
      count = place;
      place = next;
    }
  }
  if (end == counting.group_count) counting.starts[end] = place;
}

}  // namespace

CountingLayout::CountingLayout(WorkspaceLayout& workspace, int64_t items, int32_t groups, int tasks)
    : item_count(items),
      group_count(groups),
      task_dim(tasks),
      starts(workspace.add<int32_t>(int64_t{groups} + 1)),
      counts(workspace.add<int32_t>(int64_t{groups} * tasks)),
      chunk_totals(workspace.add<int32_t>(tasks)) {}

Counting::Counting(const CountingLayout& layout, std::byte* workspace)
    : item_count(layout.item_count),
      group_count(layout.group_count),
      task_dim(layout.task_dim),
      starts(at<int32_t>(workspace, layout.starts)),
      counts(at<int32_t>(workspace, layout.counts)),
      chunk_totals(at<int32_t>(workspace, layout.chunk_totals)) {}

void Counting::clear(int task_id) const { std::fill_n(counts_of(task_id), group_count, 0); }

int group_task_dim(int64_t item_count, int32_t group_count, int task_dim) {
  const int64_t most = std::min(item_count, 4 * item_count / std::max(group_count, 1));
  return static_cast<int>(std::clamp<int64_t>(most, 1, task_dim));
}

void find_places(Context& context, const Counting& counting) {
  // A task without items did not run, so it has cleared nothing.
  for (int t = 0; t < counting.task_dim; ++t) {
    if (counting.items_of(t).size() == 0) counting.clear(t);
  }
  const Evenly groups{counting.group_count};
  const int64_t count_bytes = int64_t{counting.group_count} * counting.task_dim * int64_t{sizeof(int32_t)};
  const int chunk_dim = std::min(choose_task_dim(counting.group_count, count_bytes), counting.task_dim);
  launch(context, chunk_dim, groups, total_chunk, counting);
  launch(context, chunk_dim, groups, place_chunk, counting);
}

Range ByItems::operator()(int task_dim, int task_id) const {
  return split_cost(groups.group_count, task_dim, task_id,
                    [&](int64_t g) { return groups.starts[g] + g * group_cost; });
}

}  // namespace mluop

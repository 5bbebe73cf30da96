#include "primitives/counting_sort.h"

#include <algorithm>

namespace mluop {
namespace {

struct ScanArgs {
  CountingSort& sort;
};

// Work items: buckets.
void sum_counts(const ScanArgs& args, int64_t begin, int64_t end, Task& task) {
  CountingSort& sort = args.sort;
  int32_t total = 0;
  for (int t = 0; t < sort.task_dim; ++t) {
    const int32_t* counts = sort.counts_of(t);
    for (int64_t b = begin; b < end; ++b) total += counts[b];
  }
  sort.task_totals[task.taskId] = total;
}

// Work items: buckets, divided as for sum_counts.
void write_positions(const ScanArgs& args, int64_t begin, int64_t end, Task& task) {
  CountingSort& sort = args.sort;
  int32_t position = 0;
  for (int t = 0; t < task.taskId; ++t) position += sort.task_totals[t];
  for (int64_t b = begin; b < end; ++b) {
    sort.starts[b] = position;
    for (int t = 0; t < sort.task_dim; ++t) {
      const int32_t count = sort.counts_of(t)[b];
      sort.positions_of(t)[b] = position;
      position += count;
    }
  }
  if (end == sort.bucket_count) sort.starts[end] = position;
}

}  // namespace

CountingSort::CountingSort(Arena& arena, int64_t elements, int32_t buckets, int tasks)
    : element_count(elements),
      bucket_count(buckets),
      task_dim(tasks),
      starts(arena.take<int32_t>("bucket starts", {int64_t{buckets} + 1})),
      counts(arena.take<int32_t>("bucket counts", {tasks, buckets})),
      positions(counts),
      task_totals(arena.take<int32_t>("task totals", {tasks})) {}

void CountingSort::clear_counts(int task_id) { std::fill_n(counts_of(task_id), bucket_count, 0); }

void CountingSort::exclusive_scan(Context& context) {
  // Tasks without elements did not run and have not cleared their counts.
  for (int t = 0; t < task_dim; ++t) {
    if (split(element_count, task_dim, t).size() == 0) clear_counts(t);
  }
  const int64_t count_bytes = int64_t{bucket_count} * task_dim * int64_t{sizeof(int32_t)};
  const int scan_task_dim = std::min(choose_task_dim(bucket_count, count_bytes), task_dim);
  const ScanArgs args{*this};
  launch(context, "sum_counts", scan_task_dim, Evenly{bucket_count}, sum_counts, args);
  launch(context, "write_positions", scan_task_dim, Evenly{bucket_count}, write_positions, args);
}

int sort_task_dim(int64_t element_count, int32_t bucket_count, int task_dim) {
  const int64_t max = std::min(element_count, 4 * element_count / std::max(bucket_count, 1));
  return static_cast<int>(std::clamp<int64_t>(max, 1, task_dim));
}

Range ByElements::operator()(int task_dim, int task_id) const {
  const auto cost_before = [&](int64_t bucket) { return sort.starts[bucket] + bucket * bucket_cost; };
  return split_cost(rounds * sort.bucket_count, task_dim, task_id, [&](int64_t item) {
    return item / sort.bucket_count * cost_before(sort.bucket_count) + cost_before(item % sort.bucket_count);
  });
}

}  // namespace mluop

#include "primitives/sort/counting_sort.h"

#include <algorithm>
#include <utility>

namespace mluop {
namespace {

// Work items: buckets.
template <class Number>
void sum_counts(const BucketCounts<Number>& args, int64_t begin, int64_t end, Task& task) {
  Number total = 0;
  for (int row = 0; row < args.rows; ++row) {
    const Number* const counts = args.row(row);
    for (int64_t b = begin; b < end; ++b) total += counts[b];
  }
  args.totals[task.taskId] = total;
}

// Work items: buckets, divided as for sum_counts. Reads in blocks, row by row, because the counts of a row are
// contiguous and the counts of a bucket are not.
template <class Number>
void write_positions(const BucketCounts<Number>& args, int64_t begin, int64_t end, Task& task) {
  // One row means one task: its counts are contiguous.
  if (args.rows == 1 && args.starts == nullptr) {
    std::exclusive_scan(args.counts, args.counts + args.buckets, args.counts, Number{0});
    return;
  }
  constexpr int64_t kBlock = 1024;
  Number position = 0, positions[kBlock];
  for (int t = 0; t < task.taskId; ++t) position += args.totals[t];
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = std::min(kBlock, end - first);
    std::fill_n(positions, count, Number{0});
    for (int row = 0; row < args.rows; ++row) {
      const Number* const counts = args.row(row) + first;
      for (int64_t b = 0; b < count; ++b) positions[b] += counts[b];
    }
    for (int64_t b = 0; b < count; ++b) position += std::exchange(positions[b], position);
    if (args.starts != nullptr) std::copy_n(positions, count, args.starts + first);
    for (int row = 0; row < args.rows; ++row) {
      Number* const counts = args.row(row) + first;
      for (int64_t b = 0; b < count; ++b) positions[b] += std::exchange(counts[b], positions[b]);
    }
  }
  if (args.starts != nullptr && end == args.buckets) args.starts[end] = position;
}

}  // namespace

template <class Number>
void exclusive_scan(Context& context, const BucketCounts<Number>& args) {
  const int64_t bytes = args.buckets * args.rows * static_cast<int64_t>(sizeof(Number));
  const int task_dim = std::min(choose_task_dim(args.buckets, bytes), args.rows);
  if (task_dim > 1) {
    launch<BucketCounts<Number>>(context, "sum_counts", task_dim, Evenly{args.buckets}, sum_counts<Number>, args);
  }
  launch<BucketCounts<Number>>(context, "write_positions", task_dim, Evenly{args.buckets}, write_positions<Number>,
                               args);
}

template void exclusive_scan(Context&, const BucketCounts<int32_t>&);
template void exclusive_scan(Context&, const BucketCounts<uint32_t>&);

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
  starts[bucket_count] = 0;  // without buckets, the scan has no work items
  // Tasks without elements did not run and have not cleared their counts.
  for (int t = 0; t < task_dim; ++t) {
    if (split(element_count, task_dim, t).size() == 0) clear_counts(t);
  }
  mluop::exclusive_scan<int32_t>(context, {counts, task_dim, bucket_count, starts, task_totals});
}

int sort_task_dim(int64_t element_count, int32_t bucket_count, int task_dim) {
  const int64_t max = std::min(element_count, 4 * element_count / std::max(bucket_count, 1));
  return static_cast<int>(std::clamp<int64_t>(max, 1, task_dim));
}

Range ByElements::operator()(int task_dim, int task_id) const {
  if (bucket_count == 0) return {0, 0};
  const auto cost_before = [&](int64_t bucket) { return starts[bucket] + bucket * bucket_cost; };
  return split_cost(rounds * bucket_count, task_dim, task_id, [&](int64_t item) {
    return item / bucket_count * cost_before(bucket_count) + cost_before(item % bucket_count);
  });
}

}  // namespace mluop

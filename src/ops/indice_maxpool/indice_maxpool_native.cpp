// Indice max pooling: the launches of the native algorithm. The first ones check the pairs and sort them by row of
// the result, the last computes the rows, each in the order of offsets and pairs.
#include "ops/indice_maxpool/indice_maxpool.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/indice_maxpool/indice_maxpool_native_kernels.h"

namespace mluop::indice_maxpool::native {
namespace {

// Cost of sorting a pair, in bytes of memory traffic.
constexpr int64_t kPairBytes = 16;
// Cost of writing a row, relative to reading the row of a pair.
constexpr int64_t kWriteCost = 2;

// Calls visit(row, input) for the pairs [begin, end) that are not skipped. Stops at a pair with an index out of
// range and returns its number; otherwise returns `end`.
template <class Visit>
int64_t for_each_pair(const IndexPairs& pairs, int64_t begin, int64_t end, const Visit& visit) {
  int64_t first = 0, k = 0;
  while (k < pairs.K && first + pairs.indice_num[k] <= begin) first += pairs.indice_num[k++];
  for (int64_t pair = begin; pair < end; first += pairs.indice_num[k++]) {
    const int32_t *inputs = pairs.inputs(k), *outputs = pairs.outputs(k);
    for (const int64_t last = std::min(first + pairs.indice_num[k], end); pair < last; ++pair) {
      const int32_t input = inputs[pair - first], output = outputs[pair - first];
      if (input < 0 || output < 0) continue;
      if (input >= pairs.N || output >= pairs.M) return pair;
      visit(output, input);
    }
  }
  return end;
}

void sort_by_row(Call& call, const PooledRows& args, SortedPairs& sorted) {
  Context& context = call.context();
  FirstBadItem first_bad;
  const SortArgs sort{args, sorted, first_bad};
  const int task_dim = sorted.task_dim();
  launch<SortArgs>(context, "count_pairs", task_dim, Evenly{args.pair_count}, count_pairs, sort);
  if (first_bad.found()) throw bad_index(args, first_bad.item());
  sorted.ranges.exclusive_scan(context);
  launch<SortArgs>(context, "sort_pairs", task_dim, Evenly{args.pair_count}, sort_pairs, sort);
  sort_ranges(context, sorted);
}

template <class KernelArgs, class Args>
void run(Call& call, const Args& args, const char* name, RangeKernel<KernelArgs> kernel) {
  Context& context = call.context();
  const int task_dim = choose_task_dim(
      args.M, saturated_product({args.pair_count + args.M, args.C, static_cast<int64_t>(size_of(args.dtype))}));
  call.log_detail("taskDim ", task_dim);
  const int sort_tasks = choose_task_dim(args.pair_count, args.pair_count * kPairBytes);
  const auto rows = static_cast<int32_t>(args.M);
  Arena arena = context.reserve(bytes_of<SortedPairs>(args.pair_count, rows, sort_tasks));
  SortedPairs sorted(arena, args.pair_count, rows, sort_tasks);
  sort_by_row(call, args, sorted);
  launch(context, name, task_dim, ByElements{sorted.starts, args.M, kWriteCost, 1}, kernel, {args, sorted});
}

}  // namespace

void count_pairs(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto counter = args.sorted.counter(task.taskId);
  const int64_t reached = for_each_pair(args, begin, end, [&](int32_t row, int32_t) { counter.count(row); });
  if (reached < end) args.first_bad.report(reached);
}

void sort_pairs(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto placer = args.sorted.placer(task.taskId);
  for_each_pair(args, begin, end, [&](int32_t row, int32_t input) { placer.place(row, input); });
}

void run_forward(Call& call, const ForwardArgs& args) {
  run<PoolArgs>(call, args, "pool", pool_kernel(args.dtype));
}

void run_backward(Call& call, const BackwardArgs& args) {
  run<GradientArgs>(call, args, "add_gradients", gradient_kernel(args.dtype));
}

}  // namespace mluop::indice_maxpool::native

// Stack group points backward for many tasks: the kernels that sort points by feature and transpose their
// gradients.
#include <algorithm>

#include "core/dtype.h"
#include "ops/stack_group_points/stack_group_points_native_kernels.h"

namespace mluop::stack_group_points::native {
namespace {

// Calls visit(point, feature of all clouds) for the points [begin, end).
template <class Visit>
void for_each_point(const SortArgs& args, int64_t begin, int64_t end, const Visit& visit) {
  const int64_t S = args.groups.samples;
  for (int64_t point = begin; point < end;) {
    const int64_t cloud = args.group_starts.cloud_of(point / S);
    const int64_t last = std::min(args.group_starts.starts[cloud + 1] * S, end);
    const auto first_feature = static_cast<int32_t>(args.feature_starts.starts[cloud]);
    for (; point < last; ++point) visit(static_cast<int32_t>(point), first_feature + args.groups.indices[point]);
  }
}

// T: as large as an element.
template <class T>
void sort_points(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto placer = args.sorted.placer(task.taskId);
  for_each_point(args, begin, end, [&](int32_t point, int32_t feature) { placer.place(feature, point); });
  const int64_t C = args.C, S = args.groups.samples;
  for (int64_t point = begin; point < end;) {
    const int64_t group = point / S, first = point % S, last = std::min(S, first + end - point);
    const T* const from = static_cast<const T*>(args.grad_output) + group * C * S;
    T* to = static_cast<T*>(args.rows) + point * C;
    for (int64_t s = first; s < last; ++s, to += C) {
      for (int64_t c = 0; c < C; ++c) to[c] = from[c * S + s];
    }
    point += last - first;
  }
}

}  // namespace

void count_points(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto counter = args.sorted.counter(task.taskId);
  for_each_point(args, begin, end, [&](int32_t, int32_t feature) { counter.count(feature); });
}

RangeKernel<SortArgs> sort_kernel(mluOpDataType_t dtype) {
  return dispatch_size(dtype,
                       [](auto element) -> RangeKernel<SortArgs> { return sort_points<decltype(element)>; });
}

}  // namespace mluop::stack_group_points::native

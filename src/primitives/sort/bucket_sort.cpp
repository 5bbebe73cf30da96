#include "primitives/sort/bucket_sort.h"

#include <algorithm>
#include <utility>

#include "primitives/sort/bucket_sums.h"

namespace mluop {
namespace {

// Work items: ranges.
template <class Element>
void sort_range(const BucketSort<Element>& sort, int64_t begin, int64_t end, Task& task) {
  const int64_t range_buckets = sort.range_buckets();
  int32_t* const positions = sort.positions + task.taskId * range_buckets;
  for (int64_t range = begin; range < end; ++range) {
    const int64_t first = range * range_buckets, buckets = std::min(range_buckets, sort.bucket_count - first);
    const int32_t from = sort.ranges.starts[range], to = sort.ranges.starts[range + 1];
    std::fill_n(positions, buckets, 0);
    for (int32_t i = from; i < to; ++i) ++positions[sort.records[i].bucket - first];
    int32_t position = from;
    for (int64_t b = 0; b < buckets; ++b) position += std::exchange(positions[b], position);
    std::copy_n(positions, buckets, sort.starts + first);
    for (int32_t i = from; i < to; ++i) {
      const auto& [bucket, element] = sort.records[i];
      sort.elements[positions[bucket - first]++] = element;
    }
  }
}

}  // namespace

template <class Element>
void sort_ranges(Context& context, const BucketSort<Element>& sort) {
  constexpr auto kBytes = static_cast<int64_t>(2 * sizeof(typename BucketSort<Element>::Record) + sizeof(Element));
  if (sort.shift == 0) return;
  sort.starts[sort.bucket_count] = sort.element_count();
  const int task_dim = std::min(
      choose_task_dim(sort.ranges.bucket_count, sort.bucket_count * int64_t{8} + sort.element_count() * kBytes),
      sort.task_dim());
  launch_dynamic<BucketSort<Element>>(context, "sort_ranges", task_dim, sort.ranges.bucket_count,
                                      Evenly{sort.ranges.bucket_count}, sort_range<Element>, sort);
}

template void sort_ranges(Context&, const BucketSort<int32_t>&);
template void sort_ranges(Context&, const BucketSort<WeightedRow>&);

}  // namespace mluop

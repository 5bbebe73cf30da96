#include "primitives/sort/bucket_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sort/bucket_sums.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <tuple>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/memory/channel_lines.h"
#include "primitives/sort/bucket_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: the cache lines of the rows of the result.
template <class T, class Element>
void sum_lines(const BucketSums<Element>& args, int64_t begin, int64_t end, Task&) {
  const int64_t lines = ceil_div(args.channels, kLineChannels<T>);
  const int32_t* const starts = args.sort.starts;
  const RowSums<T, Element> sums(args.sort.elements, args.sort.element_count(), args.from, args.channels);
  int64_t line = begin % lines;
  for (int64_t bucket = begin / lines; bucket * lines < end; ++bucket, line = 0) {
    const int64_t line_end = std::min(lines, end - bucket * lines);
    sums.sum({starts[bucket], starts[bucket + 1]}, channels_of_lines<T>(line, line_end, args.channels),
             static_cast<T*>(args.to) + bucket * args.channels);
  }
}

// Instantiates sum_lines() for each Element.
auto sum_lines_by_dtype(mluOpDataType_t dtype) {
  return dispatch_dtype(dtype, [](auto element) {
    using T = decltype(element);
    return std::tuple<RangeKernel<BucketSums<int32_t>>, RangeKernel<BucketSums<WeightedRow>>>(
        sum_lines<T, int32_t>, sum_lines<T, WeightedRow>);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace {

HWY_EXPORT(sum_lines_by_dtype);

// Divides the lines of all rows into ranges of equal cost.
struct ByLines {
  Range operator()(int task_dim, int task_id) const {
    return split_cost(buckets * lines, task_dim, task_id, [&](int64_t item) {
      const int64_t bucket = item / lines, line = item % lines;
      const int64_t before = starts[bucket] + bucket * kWriteCost;
      if (line == 0) return lines * before;
      return lines * before + line * (starts[bucket + 1] - starts[bucket] + kWriteCost);
    });
  }

  const int32_t* starts;
  int64_t buckets, lines;
};

}  // namespace

template <class Element>
void sum_buckets(Context& context, const BucketSums<Element>& args) {
  const auto element_bytes = static_cast<int64_t>(size_of(args.dtype));
  const int64_t buckets = args.sort.bucket_count, lines = ceil_div(args.channels * element_bytes, kCacheLine);
  if (buckets == 0 || lines == 0) return;
  const int64_t rows = args.sort.element_count() + buckets;
  const int task_dim = choose_task_dim(buckets * lines, saturated_product({rows, args.channels, element_bytes}));
  const auto kernel = std::get<RangeKernel<BucketSums<Element>>>(MLUOP_DISPATCH(sum_lines_by_dtype)(args.dtype));
  launch(context, "sum_buckets", task_dim, ByLines{args.sort.starts, buckets, lines}, kernel, args);
}

template void sum_buckets(Context&, const BucketSums<int32_t>&);
template void sum_buckets(Context&, const BucketSums<WeightedRow>&);

}  // namespace mluop
#endif

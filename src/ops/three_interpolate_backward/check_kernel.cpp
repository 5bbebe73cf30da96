#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/three_interpolate_backward/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Indices between two looks at what was found.
constexpr int64_t kStretch = 4096;

// Whether all of indices[0, count) are below `limit`; as unsigned numbers, so that negative ones are not.
HWY_INLINE bool all_below(const int32_t* indices, int64_t count, uint32_t limit) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  auto most = hn::Zero(d);
  uint32_t rest = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::LoadU(d, values + i));
  for (; i < count; ++i) rest = std::max(rest, values[i]);
  return std::max(rest, hn::GetLane(hn::MaxOfLanes(d, most))) < limit;
}

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const auto limit = static_cast<uint32_t>(std::min(args.M, int64_t{1} << 31));
  for (int64_t first = begin; first < end; first += kStretch) {
    const int64_t last = std::min(first + kStretch, end);
    if (all_below(args.indices + first, last - first, limit)) continue;
    const auto* bad = std::find_if(args.indices + first, args.indices + last,
                                   [=](int32_t index) { return static_cast<uint32_t>(index) >= limit; });
    args.first_bad[task.taskId] = bad - args.indices;
    return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward {

HWY_EXPORT(check);

RangeKernel<CheckArgs> check_kernel() { return HWY_DYNAMIC_DISPATCH(check); }

}  // namespace mluop::three_interpolate_backward
#endif

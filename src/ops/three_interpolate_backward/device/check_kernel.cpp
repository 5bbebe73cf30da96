#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/device/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/three_interpolate_backward/device/kernels.h"
#include "ops/three_interpolate_backward/device/tile.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether all of indices[0, count) are below `limit`, as unsigned numbers: negative indices are not.
HWY_INLINE bool all_below(const int32_t* indices, int64_t count, uint32_t limit) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  auto max = hn::Zero(d);
  uint32_t max_of_rest = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) max = hn::Max(max, hn::Load(d, values + i));
  for (; i < count; ++i) max_of_rest = std::max(max_of_rest, values[i]);
  return std::max(max_of_rest, hn::GetLane(hn::MaxOfLanes(d, max))) < limit;
}

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const CheckTile tile(task.nram);
  const auto limit = static_cast<uint32_t>(std::min(args.call.M, int64_t{1} << 31));
  for (int64_t first = begin; first < end; first += CheckTile::kIndices) {
    const int64_t count = std::min(CheckTile::kIndices, end - first);
    load(task, tile.indices, args.call.indices + first, count * int64_t{sizeof(int32_t)});
    ++task.statistics->tiles;
    if (all_below(tile.indices, count, limit)) continue;
    const int32_t* bad = std::find_if(tile.indices, tile.indices + count,
                                      [=](int32_t index) { return static_cast<uint32_t>(index) >= limit; });
    args.first_bad_index.report(first + (bad - tile.indices));
    return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward::device {

HWY_EXPORT(check);

RangeKernel<CheckArgs> check_kernel() { return MLUOP_DISPATCH(check); }

}  // namespace mluop::three_interpolate_backward::device
#endif

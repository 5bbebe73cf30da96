#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_backward/native/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxel_pooling_backward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// An int32 below it is in [0, extent).
uint32_t limit_of(int64_t extent) { return static_cast<uint32_t>(std::min(extent, int64_t{1} << 31)); }

struct Limits {
  explicit Limits(const Args& call)
      : b(limit_of(call.batch_size)), y(limit_of(call.num_voxel_y)), x(limit_of(call.num_voxel_x)) {}

  bool accept(const int32_t* memo) const {
    const auto below = [](int32_t value, uint32_t limit) { return static_cast<uint32_t>(value) < limit; };
    return (below(memo[0], b) && below(memo[1], y) && below(memo[2], x)) ||
           (memo[0] == kNoCell && memo[1] == kNoCell && memo[2] == kNoCell);
  }

  uint32_t b, y, x;
};

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Limits limits(args.call);
  const auto b_limit = hn::Set(d, limits.b), y_limit = hn::Set(d, limits.y), x_limit = hn::Set(d, limits.x);
  const auto no_cell = hn::Set(d, static_cast<uint32_t>(kNoCell));
  const auto* memo = reinterpret_cast<const uint32_t*>(args.call.pos_memo);
  int64_t point = begin;
  for (; point + lanes <= end; point += lanes) {
    hn::Vec<decltype(d)> b, y, x;
    hn::LoadInterleaved3(d, memo + point * 3, b, y, x);
    const auto is_cell = hn::And(hn::Lt(b, b_limit), hn::And(hn::Lt(y, y_limit), hn::Lt(x, x_limit)));
    const auto is_none = hn::Eq(hn::And(b, hn::And(y, x)), no_cell);
    if (!hn::AllTrue(d, hn::Or(is_cell, is_none))) break;
  }
  while (point < end && limits.accept(args.call.pos_memo + point * 3)) ++point;
  if (point < end) args.bad_point.report(point);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_backward::native {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);

}  // namespace mluop::voxel_pooling_backward::native
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_col2im_forward/native/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/masked_col2im_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_col2im_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From the smallest to past the largest of the coordinates of `masks`, which are one or more.
HWY_INLINE Range extent_of(const int32_t* coordinates, Range masks) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto smallest = hn::Set(d, coordinates[masks.begin]);
  auto largest = smallest;
  int64_t k = masks.begin;
  for (; k + lanes <= masks.end; k += lanes) {
    const auto v = hn::LoadU(d, coordinates + k);
    smallest = hn::Min(smallest, v);
    largest = hn::Max(largest, v);
  }
  int64_t low = hn::GetLane(hn::MinOfLanes(d, smallest));
  int64_t high = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; k < masks.end; ++k) {
    low = std::min<int64_t>(low, coordinates[k]);
    high = std::max<int64_t>(high, coordinates[k]);
  }
  return {low, high + 1};
}

// The first of `masks` that is outside the image.
int64_t first_outside(const Args& call, Range masks) {
  int64_t k = masks.begin;
  while (k < masks.end && call.has_row(call.mask_h_idx[k]) && call.has_column(call.mask_w_idx[k])) ++k;
  return k;
}

bool precedes_next(const Args& call, int64_t k) {
  const int32_t h = call.mask_h_idx[k], next_h = call.mask_h_idx[k + 1];
  return h < next_h || (h == next_h && call.mask_w_idx[k] < call.mask_w_idx[k + 1]);
}

// Whether each of `masks` precedes the next one in row-major order.
HWY_INLINE bool ascend(const Args& call, Range masks) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t last = std::min(masks.end, call.mask_cnt - 1);
  int64_t k = masks.begin;
  for (; k + lanes <= last; k += lanes) {
    const auto h = hn::LoadU(d, call.mask_h_idx + k), next_h = hn::LoadU(d, call.mask_h_idx + k + 1);
    const auto w = hn::LoadU(d, call.mask_w_idx + k), next_w = hn::LoadU(d, call.mask_w_idx + k + 1);
    const auto same_row = hn::And(hn::Eq(h, next_h), hn::Lt(w, next_w));
    if (!hn::AllTrue(d, hn::Or(hn::Lt(h, next_h), same_row))) return false;
  }
  while (k < last && precedes_next(call, k)) ++k;
  return k >= last;
}

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range masks = args.chunks[chunk];
    const Range rows = extent_of(call.mask_h_idx, masks);
    const Range columns = extent_of(call.mask_w_idx, masks);
    if (rows.begin < 0 || rows.end > call.height || columns.begin < 0 || columns.end > call.width) {
      args.bad_mask.report(first_outside(call, masks));
      return;
    }
    args.chunks.rows[chunk] = rows;
    if (!ascend(call, masks)) args.disorder.report(chunk);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_col2im_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_col2im_forward::native {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);

}  // namespace mluop::masked_col2im_forward::native
#endif

// Voxel pooling forward: addition of feature rows. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_VOXEL_POOLING_ADD_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_VOXEL_POOLING_ADD_ROW_INL_H
#undef MLUOP_VOXEL_POOLING_ADD_ROW_INL_H
#else
#define MLUOP_VOXEL_POOLING_ADD_ROW_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum[0, channels) += row[0, channels), or = +0 + row[0, channels) with kFirst, by vectors of kLanes lanes, the
// rest by vectors of half, a quarter, ... of the lanes down to one. T: float or Half.
template <bool kFirst, size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>()), class T>
HWY_INLINE void add_row(float* HWY_RESTRICT sum, const T* HWY_RESTRICT row, int64_t channels) {
  const hn::CappedTag<float, kLanes> d;
  constexpr auto kStep = static_cast<int64_t>(kLanes);
  int64_t c = 0;
  for (; c + kStep <= channels; c += kStep) {
    const auto before = kFirst ? hn::Zero(d) : hn::LoadU(d, sum + c);
    hn::StoreU(hn::Add(before, mluop::HWY_NAMESPACE::load_f32(d, row + c)), d, sum + c);
  }
  if constexpr (kLanes > 1) {
    if (c < channels) add_row<kFirst, kLanes / 2>(sum + c, row + c, channels - c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard

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

// One vector: sum += row; with kFirst, sum = +0 + row. T: float or Half.
template <bool kFirst, class D, class T>
HWY_INLINE void add_vector(D d, float* HWY_RESTRICT sum, const T* HWY_RESTRICT row) {
  const auto before = kFirst ? hn::Zero(d) : hn::LoadU(d, sum);
  hn::StoreU(hn::Add(before, mluop::HWY_NAMESPACE::load_f32(d, row)), d, sum);
}

// The channels that do not fill a vector, by vectors of half, a quarter, ... of the lanes down to one.
template <bool kFirst, size_t kLanes, class T>
HWY_INLINE void add_rest(float* HWY_RESTRICT sum, const T* HWY_RESTRICT row, int64_t channels) {
  const hn::CappedTag<float, kLanes> d;
  for (; channels >= static_cast<int64_t>(kLanes); channels -= kLanes) {
    add_vector<kFirst>(d, sum, row);
    sum += kLanes;
    row += kLanes;
  }
  if constexpr (kLanes > 1) add_rest<kFirst, kLanes / 2>(sum, row, channels);
}

// sum[0, channels) += row[0, channels); with kFirst, as if the sum were zero before.
template <bool kFirst, class T>
HWY_INLINE void add_row(float* HWY_RESTRICT sum, const T* HWY_RESTRICT row, int64_t channels) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) add_vector<kFirst>(d, sum + c, row + c);
  if (c < channels) add_rest<kFirst, hn::MaxLanes(d)>(sum + c, row + c, channels - c);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard

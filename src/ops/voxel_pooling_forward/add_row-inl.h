// Voxel pooling forward: addition of feature rows. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_VOXEL_POOLING_ADD_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_VOXEL_POOLING_ADD_ROW_INL_H
#undef MLUOP_VOXEL_POOLING_ADD_ROW_INL_H
#else
#define MLUOP_VOXEL_POOLING_ADD_ROW_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "primitives/elements-inl.h"
#include "primitives/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum[0, channels) += row[0, channels), or = +0 + row[0, channels) with kFirst. T: an element type.
template <bool kFirst, class T>
HWY_INLINE void add_row(float* HWY_RESTRICT sum, const T* HWY_RESTRICT row, int64_t channels) {
  mluop::HWY_NAMESPACE::for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto before = kFirst ? hn::Zero(d) : hn::LoadU(d, sum + c);
    hn::StoreU(hn::Add(before, mluop::HWY_NAMESPACE::load_f32(d, row + c)), d, sum + c);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard

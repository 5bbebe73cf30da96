#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_point_to_voxel_forward/native/key_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/dynamic_point_to_voxel_forward/native/kernels.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The lowest and highest coordinates along one axis.
template <class D>
struct AxisBounds {
  using V = hn::Vec<D>;

  AxisBounds() : lowest(hn::Set(D(), INT32_MAX)), negated_highest(hn::Set(D(), 1)) {}

  // Negative coordinates are those of points without voxel.
  HWY_INLINE void extend(hn::Mask<D> has_voxel, V coordinates) {
    const D d;
    lowest = hn::Min(lowest, hn::IfThenElse(has_voxel, coordinates, hn::Set(d, INT32_MAX)));
    negated_highest = hn::Min(negated_highest, hn::IfThenElse(has_voxel, hn::Neg(coordinates), hn::Set(d, 1)));
  }
  void write(int axis, const BoundsArgs& args) const {
    const D d;
    atomic_min(&args.lowest[axis], hn::GetLane(hn::MinOfLanes(d, lowest)));
    atomic_min(&args.negated_highest[axis], hn::GetLane(hn::MinOfLanes(d, negated_highest)));
  }

  V lowest, negated_highest;
};

template <class D>
void find_bounds(D d, const BoundsArgs& args, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  AxisBounds<D> bounds0, bounds1, bounds2;
  int64_t valid_count = 0;
  for (int64_t point = begin; point < end; point += lanes) {
    hn::Vec<D> c0, c1, c2;
    hn::LoadInterleaved3(d, args.call.coor(point), c0, c1, c2);
    const auto has_voxel = hn::Gt(hn::Or(hn::Or(c0, c1), c2), hn::Set(d, kNoVoxel));
    bounds0.extend(has_voxel, c0);
    bounds1.extend(has_voxel, c1);
    bounds2.extend(has_voxel, c2);
    valid_count += static_cast<int64_t>(hn::CountTrue(d, has_voxel));
  }
  if (valid_count == 0) return;
  bounds0.write(0, args);
  bounds1.write(1, args);
  bounds2.write(2, args);
  args.valid_count.fetch_add(valid_count, std::memory_order_relaxed);
}

// The points that fill vectors, from `begin` on.
template <class D>
int64_t end_of_vectors(D d, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  return end - (end - begin) % lanes;
}

void find_all_bounds(const BoundsArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<int32_t> d;
  const int64_t middle = end_of_vectors(d, begin, end);
  find_bounds(d, args, begin, middle);
  find_bounds(hn::CappedTag<int32_t, 1>(), args, middle, end);
}

template <class D>
void write_keys(D d, const KeyArgs& args, int64_t begin, int64_t end) {
  const hn::RebindToUnsigned<D> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const KeyWord& word = args.word;
  for (int64_t point = begin; point < end; point += lanes) {
    hn::Vec<D> c0, c1, c2;
    hn::LoadInterleaved3(d, args.call.coor(point), c0, c1, c2);
    const auto has_voxel = hn::Gt(hn::Or(hn::Or(c0, c1), c2), hn::Set(d, kNoVoxel));
    const auto term = [&](hn::Vec<D> c, int axis) HWY_ATTR {
      return hn::Mul(hn::Sub(hn::BitCast(du, c), hn::Set(du, word.lowest[axis])), hn::Set(du, word.factor[axis]));
    };
    const auto key = hn::Add(hn::Add(term(c0, 0), term(c1, 1)), term(c2, 2));
    hn::StoreU(hn::IfThenElse(hn::RebindMask(du, has_voxel), key, hn::Set(du, word.no_voxel)), du,
               args.keys + point);
  }
}

void write_all_keys(const KeyArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<int32_t> d;
  const int64_t middle = end_of_vectors(d, begin, end);
  write_keys(d, args, begin, middle);
  write_keys(hn::CappedTag<int32_t, 1>(), args, middle, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_point_to_voxel_forward::native {

MLUOP_EXPORT_KERNEL(bounds_kernel, find_all_bounds, BoundsArgs);
MLUOP_EXPORT_KERNEL(key_kernel, write_all_keys, KeyArgs);

}  // namespace mluop::dynamic_point_to_voxel_forward::native
#endif

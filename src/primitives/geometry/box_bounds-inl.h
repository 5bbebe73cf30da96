// Bounds of points, and which boxes of a group meet another box. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_PRIMITIVES_BOX_BOUNDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_BOX_BOUNDS_INL_H
#undef MLUOP_PRIMITIVES_BOX_BOUNDS_INL_H
#else
#define MLUOP_PRIMITIVES_BOX_BOUNDS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "primitives/geometry/box_bounds.h"
#include "primitives/simd/mask_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bounds of `count` points, a multiple of 16; x and y are aligned to a vector. Points with NaN or infinity,
// which no box contains, may lie outside the bounds.
HWY_INLINE Bounds bounds_of_points(const float* x, const float* y, int64_t count) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const hn::CappedTag<float, 16> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  auto min_x = hn::Set(d, kInfinity), min_y = min_x, max_x = hn::Set(d, -kInfinity), max_y = max_x;
  // Uses comparisons, which are false for NaN.
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto of_x = hn::Load(d, x + i), of_y = hn::Load(d, y + i);
    min_x = hn::IfThenElse(hn::Lt(of_x, min_x), of_x, min_x);
    min_y = hn::IfThenElse(hn::Lt(of_y, min_y), of_y, min_y);
    max_x = hn::IfThenElse(hn::Gt(of_x, max_x), of_x, max_x);
    max_y = hn::IfThenElse(hn::Gt(of_y, max_y), of_y, max_y);
  }
  return {hn::GetLane(hn::MinOfLanes(d, min_x)), hn::GetLane(hn::MinOfLanes(d, min_y)),
          hn::GetLane(hn::MaxOfLanes(d, max_x)), hn::GetLane(hn::MaxOfLanes(d, max_y))};
}

// Bit i: whether box `first` + i meets `other`, for the kGroupBoxes boxes from `first`, which starts a group.
// Boxes that touch meet.
HWY_INLINE uint64_t boxes_that_meet(const Bounds& other, const BoxBounds& boxes, int64_t first) {
  const hn::CappedTag<float, 16> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  static_assert(BoxBounds::kGroupBoxes % kLanes == 0);
  const auto min_x = hn::Set(d, other.min_x), min_y = hn::Set(d, other.min_y);
  const auto max_x = hn::Set(d, other.max_x), max_y = hn::Set(d, other.max_y);
  uint64_t bits = 0;
  for (int64_t i = 0; i < BoxBounds::kGroupBoxes; i += kLanes) {
    const int64_t at = first + i;
    const auto meets_x =
        hn::And(hn::Le(hn::Load(d, boxes.min_x + at), max_x), hn::Ge(hn::Load(d, boxes.max_x + at), min_x));
    const auto meets_y =
        hn::And(hn::Le(hn::Load(d, boxes.min_y + at), max_y), hn::Ge(hn::Load(d, boxes.max_y + at), min_y));
    bits |= bits_of(d, hn::And(meets_x, meets_y)) << i;
  }
  return bits;
}

// Work items: (box n of a, group of b), groups fastest. overlaps[n, m] = overlap_of(a.boxes[n], b.boxes[m]) if
// their bounds meet, otherwise 0.
template <class First, class Second, class OverlapOf>
HWY_INLINE void write_overlaps(const BoundedBoxes<First>& a, const BoundedBoxes<Second>& b, int64_t begin,
                               int64_t end, const OverlapOf& overlap_of, float* overlaps) {
  const int64_t groups = b.bounds.group_count(), count = b.bounds.count;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t n = item / groups, first = item % groups * BoxBounds::kGroupBoxes;
    float* const row = overlaps + n * count;
    std::fill(row + first, row + std::min(first + BoxBounds::kGroupBoxes, count), 0.0F);
    uint64_t bits = boxes_that_meet(a.bounds[n], b.bounds, first);
    for (; bits != 0; bits &= bits - 1) {
      const int64_t m = first + std::countr_zero(bits);
      row[m] = overlap_of(a.boxes[n], b.boxes[m]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

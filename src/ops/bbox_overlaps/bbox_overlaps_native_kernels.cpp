// IoU of axis-aligned boxes: the kernels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/bbox_overlaps/bbox_overlaps_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/bbox_overlaps/bbox_overlaps.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::bbox_overlaps {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::store_f32;

// Boxes in vectors.
template <class V>
struct Boxes {
  V x1, y1, x2, y2;
};

// NaN propagates: the maximum with NaN is NaN.
template <class D>
HWY_INLINE hn::Vec<D> larger(D, hn::Vec<D> a, hn::Vec<D> b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}
template <class D>
HWY_INLINE hn::Vec<D> smaller(D, hn::Vec<D> a, hn::Vec<D> b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}

template <class D>
HWY_INLINE hn::Vec<D> overlap(D d, const Args& args, const Boxes<hn::Vec<D>>& a, const Boxes<hn::Vec<D>>& b) {
  const auto offset = hn::Set(d, args.offset), zero = hn::Zero(d);
  const auto side = [&](auto low, auto high) HWY_ATTR { return hn::Add(hn::Sub(high, low), offset); };
  const auto shared_side = [&](auto low_a, auto high_a, auto low_b, auto high_b) HWY_ATTR {
    return larger(d, side(larger(d, low_a, low_b), smaller(d, high_a, high_b)), zero);
  };
  const auto shared = hn::Mul(shared_side(a.x1, a.x2, b.x1, b.x2), shared_side(a.y1, a.y2, b.y1, b.y2));
  const auto area_a = hn::Mul(side(a.x1, a.x2), side(a.y1, a.y2));
  const auto area_b = hn::Mul(side(b.x1, b.x2), side(b.y1, b.y2));
  const auto base = args.is_over_first ? area_a : hn::Sub(hn::Add(area_a, area_b), shared);
  return hn::Div(shared, larger(d, base, offset));
}

// Work items: (n, chunk of m), chunks fastest.
template <class T>
void write_pairs(const Args& args, int64_t begin, int64_t end, Task&) {
  const int64_t chunks = ceil_div(args.M, kChunk);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t n = item / chunks, first = item % chunks * kChunk, count = std::min(kChunk, args.M - first);
    const T* const box = static_cast<const T*>(args.bbox1) + n * 4;
    const float numbers[] = {to_f32(box[0]), to_f32(box[1]), to_f32(box[2]), to_f32(box[3])};
    T* const to = static_cast<T*>(args.ious) + n * args.M + first;
    for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
      const auto column = [&](int64_t k) HWY_ATTR { return hn::LoadU(d, args.columns + k * args.M + first + i); };
      const Boxes<hn::Vec<decltype(d)>> a{hn::Set(d, numbers[0]), hn::Set(d, numbers[1]), hn::Set(d, numbers[2]),
                                          hn::Set(d, numbers[3])};
      store_f32(overlap(d, args, a, {column(0), column(1), column(2), column(3)}), d, to + i);
    });
  }
}

// Work items: pairs of boxes with equal indices.
template <class T>
void write_aligned(const Args& args, int64_t begin, int64_t end, Task&) {
  const hn::CappedTag<float, 1> d;
  const auto box = [&](const void* boxes, int64_t n) HWY_ATTR {
    const T* const from = static_cast<const T*>(boxes) + n * 4;
    return Boxes<hn::Vec<decltype(d)>>{hn::Set(d, to_f32(from[0])), hn::Set(d, to_f32(from[1])),
                                       hn::Set(d, to_f32(from[2])), hn::Set(d, to_f32(from[3]))};
  };
  for (int64_t n = begin; n < end; ++n) {
    store_f32(overlap(d, args, box(args.bbox1, n), box(args.bbox2, n)), d, static_cast<T*>(args.ious) + n);
  }
}

MLUOP_SELECT_BY_DTYPE(write_pairs, Args);
MLUOP_SELECT_BY_DTYPE(write_aligned, Args);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::bbox_overlaps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::bbox_overlaps {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pairs_kernel, write_pairs, Args);
MLUOP_EXPORT_KERNEL_OF_DTYPE(aligned_kernel, write_aligned, Args);

}  // namespace mluop::bbox_overlaps
#endif

// Squared distances in space, with the roundings of an element type. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_PRIMITIVES_DISTANCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_DISTANCE_INL_H
#undef MLUOP_PRIMITIVES_DISTANCE_INL_H
#else
#define MLUOP_PRIMITIVES_DISTANCE_INL_H
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "primitives/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether each step of a distance is rounded to T: for half, as in mmcv. Distances of bfloat16 are fp32.
template <class T>
inline constexpr bool kRoundsSteps = std::is_same_v<T, Half>;

// v, rounded to T if steps are rounded. fp32 has more than twice the bits of half, so rounding to fp32, then to
// half, equals rounding once.
template <class T, class D>
HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> v) {
  if constexpr (kRoundsSteps<T>) {
    return f16_to_f32(d, f32_to_f16(d, v));
  } else {
    return v;
  }
}

// (x^2 + y^2) + z^2 for a vector whose components are not rounded yet. Every step is rounded and monotonic.
template <class T, class D>
HWY_INLINE hn::Vec<D> squared_length(D d, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> z) {
  const auto square = [d](hn::Vec<D> component) {
    const auto value = rounded<T>(d, component);
    return rounded<T>(d, hn::Mul(value, value));
  };
  return rounded<T>(d, hn::Add(rounded<T>(d, hn::Add(square(x), square(y))), square(z)));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

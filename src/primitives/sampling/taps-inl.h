// The values of taps, over channels. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_TAPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_TAPS_INL_H
#undef MLUOP_PRIMITIVES_TAPS_INL_H
#else
#define MLUOP_PRIMITIVES_TAPS_INL_H
#endif

#include <hwy/highway.h>

#include "primitives/sampling/bilinear.h"
#include "primitives/sampling/weighted_pixels.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The value of a tap that has pixels, for the channels from `from` on; pixels are `stride` elements apart. T: an
// element type.
template <class D, class T>
HWY_INLINE hn::Vec<D> value_of(D d, const Tap& tap, const T* from, int64_t stride) {
  const auto term = [&](int32_t i) HWY_ATTR {
    return hn::Mul(hn::Set(d, tap.weights[i]), load_f32(d, from + tap.pixels[i] * stride));
  };
  if (HWY_LIKELY(tap.count == 4)) return hn::Add(hn::Add(hn::Add(term(0), term(1)), term(2)), term(3));
  auto sum = term(0);
  for (int32_t i = 1; i < tap.count; ++i) sum = hn::Add(sum, term(i));
  return sum;
}

// store(d, sum, c) for vectors of channels from c on: sum = sums[c] + the products of the weights and the values,
// for the pixels in order. sums: null for 0.
template <class T, class Store>
HWY_INLINE void add_pixels(const T* from, int64_t stride, const WeightedPixels& pixels, int64_t channels,
                           const float* sums, const Store& store) {
  const hn::CappedTag<float, 16> wide;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(wide));
  const auto first_sum = [&](auto d, int64_t c)
                             HWY_ATTR { return sums == nullptr ? hn::Zero(d) : hn::LoadU(d, sums + c); };
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
    auto s0 = first_sum(wide, c), s1 = first_sum(wide, c + kLanes), s2 = first_sum(wide, c + 2 * kLanes),
         s3 = first_sum(wide, c + 3 * kLanes);
    for (int32_t i = 0; i < pixels.count; ++i) {
      const auto weight = hn::Set(wide, pixels.weights[i]);
      const T* const pixel = from + pixels.pixels[i] * stride + c;
      s0 = hn::Add(s0, hn::Mul(weight, load_f32(wide, pixel)));
      s1 = hn::Add(s1, hn::Mul(weight, load_f32(wide, pixel + kLanes)));
      s2 = hn::Add(s2, hn::Mul(weight, load_f32(wide, pixel + 2 * kLanes)));
      s3 = hn::Add(s3, hn::Mul(weight, load_f32(wide, pixel + 3 * kLanes)));
    }
    store(wide, s0, c);
    store(wide, s1, c + kLanes);
    store(wide, s2, c + 2 * kLanes);
    store(wide, s3, c + 3 * kLanes);
  }
  for_each_vector(
      channels,
      [&](auto d, int64_t at) HWY_ATTR {
        auto sum = first_sum(d, at);
        for (int32_t i = 0; i < pixels.count; ++i) {
          const auto value = load_f32(d, from + pixels.pixels[i] * stride + at);
          sum = hn::Add(sum, hn::Mul(hn::Set(d, pixels.weights[i]), value));
        }
        store(d, sum, at);
      },
      c);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

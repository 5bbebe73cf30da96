// The values of taps, over channels. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_TAPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_TAPS_INL_H
#undef MLUOP_PRIMITIVES_TAPS_INL_H
#else
#define MLUOP_PRIMITIVES_TAPS_INL_H
#endif

#include <hwy/highway.h>

#include "primitives/sampling/bilinear.h"
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

// sums[0, channels) += the values of the taps, in order.
template <class T>
HWY_INLINE void add_taps(const T* from, int64_t stride, const Tap* taps, int64_t count, int64_t channels,
                         float* sums) {
  const hn::CappedTag<float, 16> wide;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(wide));
  int64_t first = 0;
  for (; first + 4 * kLanes <= channels; first += 4 * kLanes) {
    float* const to = sums + first;
    auto s0 = hn::LoadU(wide, to), s1 = hn::LoadU(wide, to + kLanes), s2 = hn::LoadU(wide, to + 2 * kLanes),
         s3 = hn::LoadU(wide, to + 3 * kLanes);
    for (const Tap* tap = taps; tap != taps + count; ++tap) {
      s0 = hn::Add(s0, value_of(wide, *tap, from + first, stride));
      s1 = hn::Add(s1, value_of(wide, *tap, from + first + kLanes, stride));
      s2 = hn::Add(s2, value_of(wide, *tap, from + first + 2 * kLanes, stride));
      s3 = hn::Add(s3, value_of(wide, *tap, from + first + 3 * kLanes, stride));
    }
    hn::StoreU(s0, wide, to);
    hn::StoreU(s1, wide, to + kLanes);
    hn::StoreU(s2, wide, to + 2 * kLanes);
    hn::StoreU(s3, wide, to + 3 * kLanes);
  }
  for_each_vector(
      channels,
      [&](auto d, int64_t c) HWY_ATTR {
        auto sum = hn::LoadU(d, sums + c);
        for (const Tap* tap = taps; tap != taps + count; ++tap) {
          sum = hn::Add(sum, value_of(d, *tap, from + c, stride));
        }
        hn::StoreU(sum, d, sums + c);
      },
      first);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

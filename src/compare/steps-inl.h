// Steps of 16 elements of HALF, BFLOAT16 or FLOAT as vectors: the numbers in fp32 or in double, or their bits.
// Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_COMPARE_STEPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_COMPARE_STEPS_INL_H
#undef MLUOP_COMPARE_STEPS_INL_H
#else
#define MLUOP_COMPARE_STEPS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "compare/elements.h"
#include "primitives/simd/elements-inl.h"

#ifndef MLUOP_COMPARE_STEPS_COMMON
#define MLUOP_COMPARE_STEPS_COMMON
namespace mluop::compare {

// Views the formats as 32-bit integers with the sign at the top: consecutive numbers are 2^kShift apart.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int kShift = 0;
  static constexpr int32_t kInfinity = 0x7F800000;
};
template <>
struct Format<Half> {
  static constexpr int kShift = 16;
  static constexpr int32_t kInfinity = 0x7C000000;
};
template <>
struct Format<BFloat16> {
  static constexpr int kShift = 16;
  static constexpr int32_t kInfinity = 0x7F800000;
};

}  // namespace mluop::compare
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::compare {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kStep>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using DD = hn::CappedTag<double, kStep / 2>;
constexpr int kVectors = kStep / hn::MaxLanes(D());   // vectors of a step
constexpr int kDoubles = kStep / hn::MaxLanes(DD());  // vectors of double of a step

// Vector j of a step in double.
template <class T>
HWY_INLINE hn::Vec<DD> load_doubles(const T* step, int j) {
  return hn::PromoteTo(DD(), mluop::HWY_NAMESPACE::load_f32(hn::Rebind<float, DD>(), step + j * kStep / kDoubles));
}

HWY_INLINE hn::Vec<DI> load_bits(const float* from) { return hn::BitCast(DI(), hn::LoadU(D(), from)); }
template <class T>
HWY_INLINE hn::Vec<DI> load_bits(const T* from) {
  const auto bits = hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from));
  return hn::ShiftLeft<16>(hn::PromoteTo(DI(), bits));
}

HWY_INLINE hn::Vec<DI> magnitude_of(hn::Vec<DI> bits) { return hn::And(bits, hn::Set(DI(), 0x7FFFFFFF)); }

// The rank of a number among the values of its format, times 2^kShift.
HWY_INLINE hn::Vec<DI> place_of(hn::Vec<DI> bits) {
  const auto sign = hn::ShiftRight<31>(bits);
  return hn::Sub(hn::Xor(magnitude_of(bits), sign), sign);
}

template <class Mask>
HWY_INLINE Mask any_of(const Mask* masks) {
  Mask any = masks[0];
  HWY_UNROLL(4) for (int v = 1; v < kVectors; ++v) any = hn::Or(any, masks[v]);
  return any;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::compare
HWY_AFTER_NAMESPACE();

#endif  // include guard

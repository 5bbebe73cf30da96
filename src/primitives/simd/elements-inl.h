// Loads and stores vectors of fp32 from and to memory that holds float, half or bfloat16, so that one kernel
// serves all types. The conversions equal core/half.h and core/bfloat16.h bit for bit on every instruction set.
// For half, Highway's conversions are used only where the hardware converts: its emulation truncates, and supports
// neither infinity nor NaN. AVX512-BF16 would flush subnormals. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_PRIMITIVES_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_ELEMENTS_INL_H
#undef MLUOP_PRIMITIVES_ELEMENTS_INL_H
#else
#define MLUOP_PRIMITIVES_ELEMENTS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/element.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// On x86 the better target has the lower number; AVX2 implies F16C.
#if (HWY_ARCH_X86 && HWY_TARGET < HWY_SSE4) || HWY_TARGET == HWY_NEON

template <class D>
HWY_INLINE hn::Vec<D> f16_to_f32(D d, hn::Vec<hn::Rebind<uint16_t, D>> half) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> f32_to_f16(D, hn::Vec<D> v) {
  return hn::BitCast(hn::Rebind<uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
}

#else

template <class D>
HWY_INLINE hn::Vec<D> f16_to_f32(D d, hn::Vec<hn::Rebind<uint16_t, D>> half) {
  // Signed: all values are positive, and every target compares signed integers.
  const hn::RebindToSigned<D> di;
  const auto bits = hn::PromoteTo(di, half);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(di, 0x8000)));
  const auto magnitude = hn::ShiftLeft<kHalfShift>(hn::And(bits, hn::Set(di, 0x7FFF)));
  const auto rebias = hn::Set(di, int32_t{kHalfRebias});
  const auto infinity = hn::Set(di, int32_t{kFloatInfinity});
  const auto subnormal =
      hn::BitCast(di, hn::Mul(hn::ConvertTo(d, hn::And(bits, hn::Set(di, 0x3FF))), hn::Set(d, kHalfMin)));
  const auto normal = hn::Add(magnitude, rebias);
  const auto special = hn::Add(normal, rebias);
  const auto quiet = hn::IfThenElseZero(hn::Gt(special, infinity), hn::Set(di, int32_t{kFloatQuiet}));
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 1 << 23)), subnormal, normal);
  const auto is_finite = hn::Lt(magnitude, hn::Set(di, int32_t{kHalfExponent}));
  return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_finite, finite, hn::Or(special, quiet))));
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> f32_to_f16(D d, hn::Vec<D> v) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  const auto shifted = hn::ShiftRight<kHalfShift>(magnitude);
  const auto half = hn::Set(d, 0.5F);
  const auto subnormal = hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(di, half));
  const auto odd = hn::And(shifted, hn::Set(di, 1));
  const auto normal = hn::ShiftRight<kHalfShift>(
      hn::Add(hn::Add(magnitude, odd), hn::Set(di, int32_t{0xFFF} - int32_t{kHalfRebias})));
  const auto nan = hn::Or(hn::And(shifted, hn::Set(di, 0x3FF)), hn::Set(di, int32_t{kHalfInfinity | kHalfQuiet}));
  const auto special = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, int32_t{kFloatInfinity})), nan,
                                      hn::Set(di, int32_t{kHalfInfinity}));
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, int32_t{kHalfNormalFrom})), subnormal, normal);
  const auto found = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, int32_t{kHalfAllInfinite})), finite, special);
  return hn::DemoteTo(hn::Rebind<uint16_t, D>(), hn::Or(sign, found));
}

#endif

template <class D>
HWY_INLINE hn::Vec<D> bf16_to_f32(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  return hn::BitCast(d, hn::ShiftLeft<kBFloat16Shift>(hn::PromoteTo(hn::RebindToUnsigned<D>(), bits)));
}

// Rounds v to bfloat16, in the upper 16 bits of each lane.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> round_to_bf16(D, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<kBFloat16Shift>(bits), hn::Set(du, 1U));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(du, kBFloat16BelowHalf)));
  const auto nan = hn::Or(bits, hn::Set(du, kBFloat16Quiet << kBFloat16Shift));
  return hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, v)), up, nan);
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> f32_to_bf16(D d, hn::Vec<D> v) {
  return hn::TruncateTo(hn::Rebind<uint16_t, D>(), hn::ShiftRight<kBFloat16Shift>(round_to_bf16(d, v)));
}

// Converts a vector of T, an Element16, to fp32, and back.
template <Element16 T, class D>
HWY_INLINE hn::Vec<D> from_bits(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  if constexpr (std::is_same_v<T, Half>) return f16_to_f32(d, bits);
  if constexpr (std::is_same_v<T, BFloat16>) return bf16_to_f32(d, bits);
}
template <Element16 T, class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> to_bits(D d, hn::Vec<D> v) {
  if constexpr (std::is_same_v<T, Half>) return f32_to_f16(d, v);
  if constexpr (std::is_same_v<T, BFloat16>) return f32_to_bf16(d, v);
}

// Packs `lower` and `upper`, rounded to T, into lanes of two elements.
template <Element16 T, class D>
HWY_INLINE hn::Vec<D> round_pairs(D d, hn::Vec<D> lower, hn::Vec<D> upper) {
  const hn::RebindToUnsigned<D> du;
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto high = hn::And(round_to_bf16(d, upper), hn::Set(du, 0xFFFF0000U));
    return hn::BitCast(d, hn::Or(hn::ShiftRight<16>(round_to_bf16(d, lower)), high));
  } else {
    const auto high = hn::ShiftLeft<16>(hn::PromoteTo(du, to_bits<T>(d, upper)));
    return hn::BitCast(d, hn::Or(hn::PromoteTo(du, to_bits<T>(d, lower)), high));
  }
}

// Loads from[0, Lanes(d)), of any alignment, as fp32.
template <class D>
HWY_INLINE hn::Vec<D> load_f32(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D, Element16 T>
HWY_INLINE hn::Vec<D> load_f32(D d, const T* from) {
  return from_bits<T>(d, hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from)));
}

// Loads from[0, 2 Lanes(d)): lane i of v0, v1 is element 2 i, 2 i + 1; likewise for three vectors.
template <class D>
HWY_INLINE void load_interleaved_f32(D d, const float* from, hn::Vec<D>& v0, hn::Vec<D>& v1) {
  hn::LoadInterleaved2(d, from, v0, v1);
}
template <class D, Element16 T>
HWY_INLINE void load_interleaved_f32(D d, const T* from, hn::Vec<D>& v0, hn::Vec<D>& v1) {
  const hn::Rebind<uint16_t, D> du;
  hn::Vec<decltype(du)> bits0, bits1;
  hn::LoadInterleaved2(du, reinterpret_cast<const uint16_t*>(from), bits0, bits1);
  v0 = from_bits<T>(d, bits0);
  v1 = from_bits<T>(d, bits1);
}
template <class D>
HWY_INLINE void load_interleaved_f32(D d, const float* from, hn::Vec<D>& v0, hn::Vec<D>& v1, hn::Vec<D>& v2) {
  hn::LoadInterleaved3(d, from, v0, v1, v2);
}
template <class D, Element16 T>
HWY_INLINE void load_interleaved_f32(D d, const T* from, hn::Vec<D>& v0, hn::Vec<D>& v1, hn::Vec<D>& v2) {
  const hn::Rebind<uint16_t, D> du;
  hn::Vec<decltype(du)> bits0, bits1, bits2;
  hn::LoadInterleaved3(du, reinterpret_cast<const uint16_t*>(from), bits0, bits1, bits2);
  v0 = from_bits<T>(d, bits0);
  v1 = from_bits<T>(d, bits1);
  v2 = from_bits<T>(d, bits2);
}

// Stores v to to[0, Lanes(d)), of any alignment.
template <class D>
HWY_INLINE void store_f32(hn::Vec<D> v, D d, float* to) {
  hn::StoreU(v, d, to);
}
template <class D, Element16 T>
HWY_INLINE void store_f32(hn::Vec<D> v, D d, T* to) {
  hn::StoreU(to_bits<T>(d, v), hn::Rebind<uint16_t, D>(), reinterpret_cast<uint16_t*>(to));
}

// to[0, count) = from[0, count)
template <class T>
HWY_INLINE void load_row(const T* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR { hn::StoreU(load_f32(d, from + i), d, to + i); });
}

// The same, except that floats are not copied: returns the location of the row.
HWY_INLINE const float* load_row_in_place(const float* from, int64_t, float*) { return from; }
template <Element16 T>
HWY_INLINE const float* load_row_in_place(const T* from, int64_t count, float* to) {
  load_row(from, count, to);
  return to;
}

// to[0, count) = from[0, count), rounded to T, an element type.
template <class T>
HWY_INLINE void round_row(const float* HWY_RESTRICT from, int64_t count, T* HWY_RESTRICT to) {
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR { store_f32(hn::LoadU(d, from + i), d, to + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

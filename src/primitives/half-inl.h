// Loads and stores vectors of fp32 from and to memory that holds float or half, so that one kernel serves both.
// The conversions equal those of core/half.h bit for bit on every instruction set: Highway's are used where the
// hardware converts; its emulation truncates, and supports neither infinity nor NaN. Per-target code of Highway:
// include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_HALF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_HALF_INL_H
#undef MLUOP_PRIMITIVES_HALF_INL_H
#else
#define MLUOP_PRIMITIVES_HALF_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/half.h"
#include "primitives/for_each_vector-inl.h"

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

// Loads from[0, Lanes(d)), of any alignment, as fp32.
template <class D>
HWY_INLINE hn::Vec<D> load_f32(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_f32(D d, const Half* from) {
  return f16_to_f32(d, hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from)));
}

// Stores v to to[0, Lanes(d)), of any alignment.
template <class D>
HWY_INLINE void store_f32(hn::Vec<D> v, D d, float* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void store_f32(hn::Vec<D> v, D d, Half* to) {
  hn::StoreU(f32_to_f16(d, v), hn::Rebind<uint16_t, D>(), reinterpret_cast<uint16_t*>(to));
}

// to[0, count) = from[0, count), rounded to T: float or Half.
template <class T>
HWY_INLINE void round_row(const float* HWY_RESTRICT from, int64_t count, T* HWY_RESTRICT to) {
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR { store_f32(hn::LoadU(d, from + i), d, to + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

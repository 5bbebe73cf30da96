// Steps of 16 elements of HALF, BFLOAT16 or FLOAT as vectors: the numbers in fp32 and in double, and their bits.
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
#include "primitives/half-inl.h"

#ifndef MLUOP_COMPARE_STEPS_COMMON
#define MLUOP_COMPARE_STEPS_COMMON
namespace mluop::compare {

inline constexpr int64_t kStep = 16;

// The formats as integers of 32 bits with the sign on top: consecutive numbers are 2^kShift apart.
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
// The vectors of double that a vector of float becomes.
#if HWY_TARGET == HWY_SCALAR
using DD = hn::Rebind<double, D>;
constexpr int kHalves = 1;
#else
using DD = hn::Repartition<double, D>;
constexpr int kHalves = 2;
#endif
constexpr int kVectors = kStep / hn::MaxLanes(D());          // of a step
constexpr int kDoubles = kHalves * kVectors;                 // vectors of double of a step
constexpr int kSumVectors = kSumLanes / hn::MaxLanes(DD());  // of a sum

HWY_INLINE void load(const float* from, hn::Vec<D>& value, hn::Vec<DI>& bits) {
  value = hn::LoadU(D(), from);
  bits = hn::BitCast(DI(), value);
}
HWY_INLINE void load(const Half* from, hn::Vec<D>& value, hn::Vec<DI>& bits) {
  const auto half = hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from));
  value = mluop::HWY_NAMESPACE::f16_to_f32(D(), half);
  bits = hn::ShiftLeft<16>(hn::PromoteTo(DI(), half));
}
HWY_INLINE void load(const BFloat16* from, hn::Vec<D>& value, hn::Vec<DI>& bits) {
  const auto bfloat = hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(from));
  bits = hn::ShiftLeft<16>(hn::PromoteTo(DI(), bfloat));
  value = hn::BitCast(D(), bits);
}

// A step of a tensor.
struct Step {
  template <class T>
  HWY_INLINE explicit Step(const T* from) {
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      load(from + v * kStep / kVectors, value[v], bits[v]);
      magnitude[v] = hn::And(bits[v], hn::Set(DI(), 0x7FFFFFFF));
    }
  }

  // Vector j of the numbers in double.
  HWY_INLINE hn::Vec<DD> number(int j) const {
#if HWY_TARGET == HWY_SCALAR
    return hn::PromoteTo(DD(), value[j]);
#else
    const hn::Half<D> half;
    return hn::PromoteTo(DD(), j % 2 == 0 ? hn::LowerHalf(half, value[j / 2]) : hn::UpperHalf(half, value[j / 2]));
#endif
  }

  hn::Vec<D> value[kVectors];
  hn::Vec<DI> bits[kVectors];
  hn::Vec<DI> magnitude[kVectors];
};

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

// The traits of steps of HALF, BFLOAT16 or FLOAT: a bit for each element that has one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compare/patterns/traits_vectors.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <type_traits>

#include "compare/patterns/traits.h"
#include "compare/steps-inl.h"
#include "core/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::compare {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A bit for each lane of vector v.
template <class DV>
HWY_INLINE uint32_t bits_of(DV d, hn::Mask<DV> mask, int v) {
  uint8_t bytes[8];
  hn::StoreMaskBits(d, mask, bytes);
  const uint32_t bits = hn::MaxLanes(d) > 8 ? bytes[0] | uint32_t{bytes[1]} << 8 : bytes[0];
  return bits << (v * hn::MaxLanes(d));
}

// A bit for each element of a step whose number in double satisfies test().
template <class T, class Test>
HWY_INLINE uint32_t test_doubles(const T* e, const T* b, const Test& test) {
  uint32_t bits = 0;
  HWY_UNROLL(8) for (int v = 0; v < kDoubles; ++v) {
    bits |= bits_of(DD(), test(load_doubles(e, v), load_doubles(b, v)), v);
  }
  return bits;
}

// A bit for each element of a step whose bits satisfy test().
template <class T, class Test>
HWY_INLINE uint32_t test_bits(const T* e, const T* b, const Test& test) {
  uint32_t bits = 0;
  HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
    const int64_t at = v * kStep / kVectors;
    bits |= bits_of(DI(), test(load_bits(e + at), load_bits(b + at)), v);
  }
  return bits;
}

// Whether the two are neighbors, where consecutive numbers are 2^shift apart.
template <int kShift>
HWY_INLINE hn::Mask<DI> are_neighbors(hn::Vec<DI> e_bits, hn::Vec<DI> b_bits) {
  return hn::Eq(hn::Abs(hn::Sub(place_of(e_bits), place_of(b_bits))), hn::Set(DI(), 1 << kShift));
}
// Whether the two are neighbors or the same number.
template <int kShift>
HWY_INLINE hn::Mask<DI> are_near(hn::Vec<DI> e_bits, hn::Vec<DI> b_bits) {
  return hn::Or(hn::Eq(place_of(e_bits), place_of(b_bits)), are_neighbors<kShift>(e_bits, b_bits));
}

HWY_INLINE auto half_of(hn::Vec<DI> bits) { return mluop::HWY_NAMESPACE::f32_to_f16(D(), hn::BitCast(D(), bits)); }

template <class T>
StepTraits traits_of(const TraitArgs& args, int64_t first, uint32_t candidates) {
  const DD dd;
  const D d;
  const DI di;
  const Operands& operands = args.operands;
  const T* const e_at = reinterpret_cast<const T*>(operands.found.data) + first;
  const T* const b_at = reinterpret_cast<const T*>(operands.expected.data) + first;
  if (first + kStep > operands.count || test_bits(e_at, b_at, [&](auto e, auto b) {
                                          const auto largest = hn::Max(magnitude_of(e), magnitude_of(b));
                                          return hn::Gt(largest, hn::Set(di, Format<T>::kInfinity - 1));
                                        }) != 0) {
    return traits_of_numbers(args, first, candidates);
  }
  StepTraits result{};
  if (operands.options.bits != 0) {
    result.wrong = test_bits(e_at, b_at, [](auto e, auto b) { return hn::Ne(e, b); });
  } else {
    result.wrong = test_doubles(e_at, b_at, [&](auto e, auto b) {
      const auto tolerance = hn::Mul(hn::Set(dd, operands.options.rtol), hn::Abs(b));
      const auto error = hn::Abs(hn::Sub(e, b));
      return hn::Not(hn::Le(error, hn::Add(hn::Set(dd, operands.options.atol), tolerance)));
    });
  }
  if (result.wrong == 0) return {0, candidates};
  const auto keep = [&](Trait trait, const auto& holds) {
    if ((candidates & trait) != 0 && (result.wrong & ~holds()) == 0) result.traits |= trait;
  };
  const auto zero = hn::Zero(dd);
  const auto is_zero = [&](auto e, auto b) { return hn::And(hn::Eq(e, zero), hn::Ne(b, zero)); };
  keep(kIsFlushed, [&] {
    return test_doubles(e_at, b_at, [&](auto e, auto b) {
      return hn::And(is_zero(e, b), hn::Lt(hn::Abs(b), hn::Set(dd, args.least_normal)));
    });
  });
  keep(kIsZero, [&] { return test_doubles(e_at, b_at, is_zero); });
  keep(kIsNegated, [&] {
    return test_doubles(e_at, b_at,
                        [&](auto e, auto b) { return hn::And(hn::Eq(e, hn::Neg(b)), hn::Ne(e, zero)); });
  });
  keep(kIsOneUlp, [&] {
    return test_bits(e_at, b_at, [](auto e, auto b) { return are_neighbors<Format<T>::kShift>(e, b); });
  });
  keep(kIsScaled, [&] {
    return test_doubles(e_at, b_at, [&](auto e, auto b) {
      const auto product = hn::Mul(hn::Set(dd, args.factor), b);
      return hn::Le(hn::Abs(hn::Sub(e, product)), hn::Mul(hn::Set(dd, args.relative), hn::Abs(product)));
    });
  });
  if constexpr (std::is_same_v<T, float>) {
    keep(kIsHalf, [&] {
      return test_bits(e_at, b_at, [&](auto e, auto b) {
        const auto half_e = half_of(e), half_b = half_of(b);
        const auto back = mluop::HWY_NAMESPACE::f16_to_f32(d, half_e);
        const auto e_bits = hn::ShiftLeft<16>(hn::PromoteTo(di, half_e));
        const auto b_bits = hn::ShiftLeft<16>(hn::PromoteTo(di, half_b));
        return hn::And(are_near<16>(e_bits, b_bits), hn::RebindMask(di, hn::Eq(back, hn::BitCast(d, e))));
      });
    });
    keep(kIsBFloat16, [&] {
      return test_bits(e_at, b_at, [&](auto e, auto b) {
        const auto odd = hn::And(hn::ShiftRight<16>(b), hn::Set(di, 1));
        const auto rounded_b = hn::Add(hn::Add(b, hn::Set(di, 0x7FFF)), odd);
        const auto upper = hn::Set(di, static_cast<int32_t>(0xFFFF0000));
        return hn::And(are_near<16>(e, hn::And(rounded_b, upper)), hn::Eq(hn::And(e, upper), e));
      });
    });
  }
  return result;
}

StepFunction select_function(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return traits_of<Half>;
    case MLUOP_DTYPE_BFLOAT16: return traits_of<BFloat16>;
    default: return traits_of<float>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::compare
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::compare {

HWY_EXPORT(select_function);

StepFunction traits_of_vectors(mluOpDataType_t dtype) { return MLUOP_DISPATCH(select_function)(dtype); }

}  // namespace mluop::compare
#endif

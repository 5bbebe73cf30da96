// exp of non-positive numbers, log of probabilities, and sigmoid, with relative errors below 2^-22; powers of
// probabilities; exp of doubles. Products are rounded before they are added: the same bits on every instruction
// set. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_EXP_LOG_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_EXP_LOG_INL_H
#undef MLUOP_PRIMITIVES_EXP_LOG_INL_H
#else
#define MLUOP_PRIMITIVES_EXP_LOG_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Leading and remaining bits of ln 2: products of the leading bits with exponents are exact.
constexpr float kLn2High = 0x1.62ep-1F;
constexpr float kLn2Low = 0x1.0bfbe8p-15F;

// a x + b
template <class D>
HWY_INLINE hn::Vec<D> linear(D d, hn::Vec<D> x, float a, float b) {
  return hn::Add(hn::Mul(hn::Set(d, a), x), hn::Set(d, b));
}

// exp(x) for x <= 0, and for greater x while exp(x) is finite; 0 where it is below 2^-126. Unspecified for NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto least = hn::Set(d, -0x1.5d589ep6F);
  const auto limited = hn::Max(x, least);
  // Adding this number leaves no fraction: the sum has the exponent in its lowest bits.
  const auto shift = hn::Set(d, 0x1.8p23F);
  const auto shifted = hn::Add(hn::Mul(limited, hn::Set(d, 0x1.715476p0F)), shift);
  const auto n = hn::Sub(shifted, shift);
  const auto r = hn::Sub(hn::Sub(limited, hn::Mul(n, hn::Set(d, kLn2High))), hn::Mul(n, hn::Set(d, kLn2Low)));
  const auto r2 = hn::Mul(r, r);
  const auto high = hn::Add(hn::Mul(hn::Set(d, 0.0013814612F), r2), linear(d, r, 0.00836871F, 0.04166839F));
  const auto tail = hn::Add(hn::Mul(high, r2), linear(d, r, 0.16666521F, 0.49999994F));
  const auto exp_r = hn::Add(hn::Set(d, 1.0F), hn::Add(r, hn::Mul(r2, tail)));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const auto exp = hn::BitCast(d, hn::Add(hn::BitCast(di, exp_r), exponent));
  return hn::IfThenElseZero(hn::Ge(x, least), exp);
}

// log(x) for 2^-126 <= x <= 1.
template <class D>
HWY_INLINE hn::Vec<D> log_of_probability(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  // x = 2^n (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
  const auto bits = hn::BitCast(di, x);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, int32_t{0x3F3504F3})));
  const auto n = hn::ConvertTo(d, exponent);
  const auto f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0F));
  const auto f2 = hn::Mul(f, f);
  const auto high =
      hn::Add(hn::Mul(linear(d, f, 0.08700368F, -0.1426749F), f2), linear(d, f, 0.1491479F, -0.16577585F));
  const auto low = hn::Add(hn::Mul(linear(d, f, 0.19963062F, -0.25001338F), f2), linear(d, f, 0.3333391F, -0.5F));
  const auto tail = hn::Add(hn::Mul(high, hn::Mul(f2, f2)), low);
  const auto rest = hn::Add(hn::Mul(f2, tail), hn::Mul(n, hn::Set(d, kLn2Low)));
  return hn::Add(hn::Mul(n, hn::Set(d, kLn2High)), hn::Add(f, rest));
}

// base^exponent for 0 <= base <= 1 and exponent >= 0; base itself for the exponent 1. A base below 2^-126 counts
// as 0, and 0^0 is 1.
template <class D>
HWY_INLINE hn::Vec<D> power_of_probability(D d, hn::Vec<D> base, float exponent) {
  // Square roots of squares: nearly all networks use focal loss with gamma 2.
  if (exponent == 1) return base;
  const auto least = hn::Set(d, std::numeric_limits<float>::min());
  const auto log = log_of_probability(d, hn::Max(base, least));
  const auto power = exp_of_negative(d, hn::Mul(hn::Set(d, exponent), log));
  return hn::IfThenElse(hn::Lt(base, least), hn::Set(d, exponent == 0 ? 1.0F : 0.0F), power);
}

// 1 / (1 + exp(-x)), mostly within one rounding; 0 where it is below 2^-126. NaN propagates.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0F);
  const auto e = exp_of_negative(d, hn::Neg(hn::Abs(x)));
  const auto below_half = hn::Div(e, hn::Add(one, e));
  const auto p = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below_half, hn::Sub(one, below_half));
  return hn::IfThenElse(hn::IsNaN(x), x, p);
}

// exp(x) of doubles, with a relative error of about 2^-52; 0 where it is below 2^-1022. NaN propagates.
template <class DD>
HWY_INLINE hn::Vec<DD> exp_of_double(DD d, hn::Vec<DD> x) {
  const hn::RebindToSigned<DD> di;
  const auto least = hn::Set(d, -0x1.6232bdd7abcd2p9), greatest = hn::Set(d, 0x1.62e42fefa39efp9);
  const auto limited = hn::Min(hn::Max(x, least), greatest);
  // As in exp_of_negative(). Products of the leading 32 bits of ln 2 with exponents are exact.
  const auto shift = hn::Set(d, 0x1.8p52);
  const auto shifted = hn::Add(hn::Mul(limited, hn::Set(d, 0x1.71547652b82fep0)), shift);
  const auto n = hn::Sub(shifted, shift);
  const auto r = hn::Sub(hn::Sub(limited, hn::Mul(n, hn::Set(d, 0x1.62e42feep-1))),
                         hn::Mul(n, hn::Set(d, 0x1.a39ef35793c76p-33)));
  // The series of exp, from the 13th power on.
  constexpr double kInverseFactorials[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                           1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                           1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
  auto tail = hn::Set(d, kInverseFactorials[0]);
  for (size_t i = 1; i < std::size(kInverseFactorials); ++i) {
    tail = hn::Add(hn::Mul(tail, r), hn::Set(d, kInverseFactorials[i]));
  }
  const auto exp_r = hn::Add(hn::Set(d, 1.0), hn::Add(r, hn::Mul(hn::Mul(r, r), tail)));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(di, shifted));
  const auto exp = hn::BitCast(d, hn::Add(hn::BitCast(di, exp_r), exponent));
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto in_range = hn::IfThenElse(hn::Gt(x, greatest), infinity, hn::IfThenZeroElse(hn::Lt(x, least), exp));
  return hn::IfThenElse(hn::IsNaN(x), x, in_range);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

// Rounds doubles to float. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_ROUND_TO_FLOAT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_ROUND_TO_FLOAT_INL_H
#undef MLUOP_PRIMITIVES_ROUND_TO_FLOAT_INL_H
#else
#define MLUOP_PRIMITIVES_ROUND_TO_FLOAT_INL_H
#endif

#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As static_cast<float>. Not all instruction sets round infinity and numbers beyond float to infinity.
template <class D>
HWY_INLINE hn::Vec<D> round_to_float(D d, hn::Vec<hn::Rebind<double, D>> x) {
  const hn::Rebind<double, D> dd;
  const auto reduced = hn::DemoteTo(d, hn::Mul(x, hn::Set(dd, 0x1p-30)));
  const auto overflows = hn::Ge(hn::Abs(reduced), hn::Set(d, 0x1p98F));
  const auto infinity = hn::CopySign(hn::Set(d, std::numeric_limits<float>::infinity()), reduced);
  return hn::IfThenElse(overflows, infinity, hn::DemoteTo(d, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

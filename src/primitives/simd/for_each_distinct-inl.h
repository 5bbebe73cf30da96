// The distinct values of a vector. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_FOR_EACH_DISTINCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_FOR_EACH_DISTINCT_INL_H
#undef MLUOP_PRIMITIVES_FOR_EACH_DISTINCT_INL_H
#else
#define MLUOP_PRIMITIVES_FOR_EACH_DISTINCT_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(value, lanes) for each distinct value of values[0, Lanes(d)) among the lanes `among`; `lanes`: the
// mask of all lanes with this value. For vectors with few distinct values.
template <class D, class Mask, class Body>
HWY_INLINE void for_each_distinct(D d, const hn::TFromD<D>* values, Mask among, const Body& body) {
  const auto v = hn::LoadU(d, values);
  while (!hn::AllFalse(d, among)) {
    const auto value = values[hn::FindKnownFirstTrue(d, among)];
    const auto lanes = hn::Eq(v, hn::Set(d, value));
    body(value, lanes);
    among = hn::AndNot(lanes, among);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

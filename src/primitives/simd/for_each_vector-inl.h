// The vectors of a row of any length. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_FOR_EACH_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_FOR_EACH_VECTOR_INL_H
#undef MLUOP_PRIMITIVES_FOR_EACH_VECTOR_INL_H
#else
#define MLUOP_PRIMITIVES_FOR_EACH_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, i) for vectors of the floats [0, count), in order; d: the tag of the vector that starts at i.
// Vectors have at most kLanes lanes; the rest uses vectors of half, a quarter, ... of the lanes, down to one.
template <size_t kLanes = 16, class Body>
HWY_INLINE void for_each_vector(int64_t count, const Body& body, int64_t first = 0) {
  const hn::CappedTag<float, kLanes> d;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t i = first;
  for (; i + lanes <= count; i += lanes) body(d, i);
  if constexpr (lanes > 1) {
    if (i < count) for_each_vector<lanes / 2>(count, body, i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

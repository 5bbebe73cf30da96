// Three nearest neighbors forward: squared distances, with the roundings of the element type. Per-target code of
// Highway: include it inside foreach_target.
#if defined(MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H
#undef MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H
#else
#define MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H
#endif

#include <hwy/highway.h>

#include "ops/three_nn_forward/native/tree.h"
#include "primitives/distance-inl.h"
#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_nn_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kWidth>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
using V = hn::Vec<D>;

struct Vector3 {
  V x, y, z;
};

// Of a vector whose components are not rounded yet.
template <class T>
HWY_INLINE V squared_length(V x, V y, V z) {
  return mluop::HWY_NAMESPACE::squared_length<T>(D(), x, y, z);
}

template <class T>
HWY_INLINE V squared_distance(const Vector3& a, const Vector3& b) {
  return squared_length<T>(hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z));
}

// Lower bounds of the squared distances of a finite point to the points in boxes, in the roundings of T: every
// step is monotonic. Infinite for an empty box.
template <class T>
HWY_INLINE V squared_distance_to_box(const Vector3& point, const Vector3& low, const Vector3& high) {
  const auto gap = [](V coordinate, V from, V to) {
    return hn::Max(hn::Max(hn::Sub(from, coordinate), hn::Sub(coordinate, to)), hn::Zero(D()));
  };
  return squared_length<T>(gap(point.x, low.x, high.x), gap(point.y, low.y, high.y), gap(point.z, low.z, high.z));
}

// Exact: distances have the precision of T.
HWY_INLINE void store_distance(float value, float* to) { *to = value; }
HWY_INLINE void store_distance(float value, Half* to) { *to = mluop::f32_to_f16(value); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

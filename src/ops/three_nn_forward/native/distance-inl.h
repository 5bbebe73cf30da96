// Three nearest neighbors forward: squared distances, with the roundings of the element type. Per-target code of
// Highway: include it inside foreach_target.
#if defined(MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H
#undef MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H
#else
#define MLUOP_THREE_NN_FORWARD_DISTANCE_INL_H
#endif

#include <hwy/highway.h>

#include <type_traits>

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

// If squared_length<T>(v) is at most d, approximate_squared_length(v) is at most d * kScale + kOffset: the former
// has five roundings of relative error 2^-11 (half) or 2^-24 (float), and three squares that may be subnormal.
template <class T>
struct Rounding {
  static constexpr float kScale = std::is_same_v<T, float> ? 1 + 0x1p-20F : 1 + 0x1.8p-9F;
  static constexpr float kOffset = std::is_same_v<T, float> ? 0x1p-126F : 0x1p-23F;
};

template <class T>
HWY_INLINE V approximate_limit(V distance) {
  const D d;
  return hn::MulAdd(distance, hn::Set(d, Rounding<T>::kScale), hn::Set(d, Rounding<T>::kOffset));
}

// A vector whose components are not rounded to T.
HWY_INLINE V approximate_squared_length(const Vector3& v) {
  return hn::MulAdd(v.z, v.z, hn::MulAdd(v.y, v.y, hn::Mul(v.x, v.x)));
}

template <class T>
HWY_INLINE V squared_length(const Vector3& v) {
  return mluop::HWY_NAMESPACE::squared_length<T>(D(), v.x, v.y, v.z);
}

HWY_INLINE Vector3 difference(const Vector3& a, const Vector3& b) {
  return {hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z)};
}

// The least differences of points in the boxes [low, high] to points in the boxes [other_low, other_high]. Their
// squared_length() is a lower bound of the squared distances, as every step is monotonic; infinite for an empty
// box.
HWY_INLINE Vector3 gap(const Vector3& low, const Vector3& high, const Vector3& other_low,
                       const Vector3& other_high) {
  const auto of_dim = [](V from, V to, V other_from, V other_to) {
    return hn::Max(hn::Max(hn::Sub(other_from, to), hn::Sub(from, other_to)), hn::Zero(D()));
  };
  return {of_dim(low.x, high.x, other_low.x, other_high.x), of_dim(low.y, high.y, other_low.y, other_high.y),
          of_dim(low.z, high.z, other_low.z, other_high.z)};
}

// Exact: distances have the precision of T.
HWY_INLINE void store_distance(float value, float* to) { *to = value; }
HWY_INLINE void store_distance(float value, Half* to) { *to = mluop::f32_to_f16(value); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_nn_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

// Three interpolate backward: vectors of a strip of channels, and their input. Per-target code of Highway: include
// it inside foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H
#undef MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

#include "ops/three_interpolate_backward/native/kernels.h"
#include "primitives/half-inl.h"
#include "primitives/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::unpack;

constexpr int64_t kStrip = Tiling::kStrip;
using D = hn::CappedTag<float, kStrip>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Points of a square of kLanes channels that is transposed in registers.
template <class T>
constexpr int64_t kSquarePoints{kLanes * kPacked<T>};

// Copies `points` points of `channels` rows to rows of kSquarePoints: the part of a square that the tensor has.
template <class T>
HWY_INLINE void copy_edge(const T* from, int64_t stride, int64_t points, int64_t channels, T* edge) {
  const auto bytes = static_cast<size_t>(points) * sizeof(T);
  for (int64_t c = 0; c < channels; ++c) std::memcpy(edge + c * kSquarePoints<T>, from + c * stride, bytes);
}

// to[0, count) = from[0, count) as fp32; `to` is aligned.
HWY_INLINE void to_f32(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
HWY_INLINE void to_f32(const Half* from, int64_t count, float* to) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::Store(load_f32(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = mluop::f16_to_f32(from[i]);
}

// from[0, count) as fp32: in place, or converted into `buffer`.
HWY_INLINE const float* as_f32(const float* from, int64_t, float*) { return from; }
HWY_INLINE const float* as_f32(const Half* from, int64_t count, float* buffer) {
  to_f32(from, count, buffer);
  return buffer;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

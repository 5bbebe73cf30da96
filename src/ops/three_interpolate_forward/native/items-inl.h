// Three interpolate forward: what the kernels have in common. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_FORWARD_ITEMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_FORWARD_ITEMS_INL_H
#undef MLUOP_THREE_INTERPOLATE_FORWARD_ITEMS_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_FORWARD_ITEMS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/three_interpolate_forward/native/kernels.h"
#include "primitives/half-inl.h"
#include "primitives/stream-inl.h"
#include "primitives/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::unpack;

using D = hn::CappedTag<float, kStrip>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// A strip of channels and consecutive chunks of its points, as parts of the tensors. T: float or Half.
template <class T>
struct Segment {
  const T* features;  // [channels, M]
  T* output;          // [channels, N]
  int64_t b, channels;
  Range chunks;
};

// Calls visit(segment) for the work items [begin, end).
template <class T, class Visit>
HWY_INLINE void for_each_segment(const InterpolateArgs& args, int64_t begin, int64_t end, const Visit& visit) {
  const Args& call = args.call;
  const int64_t chunks = args.chunk_count();
  for (int64_t item = begin; item < end;) {
    const int64_t strip = item / chunks;
    const int64_t strip_end = std::min(end, (strip + 1) * chunks);
    const int64_t b = strip / strip_count(call);
    const int64_t first_channel = strip % strip_count(call) * kStrip;
    const int64_t row = b * call.C + first_channel;
    visit(Segment<T>{static_cast<const T*>(call.features) + row * call.M,
                     static_cast<T*>(call.output) + row * call.N,
                     b,
                     std::min(kStrip, call.C - first_channel),
                     {item - strip * chunks, strip_end - strip * chunks}});
    item = strip_end;
  }
}

// The points of a chunk.
HWY_INLINE Range points_of(const InterpolateArgs& args, int64_t chunk) {
  return {chunk * args.chunk_points, std::min((chunk + 1) * args.chunk_points, args.call.N)};
}

// Copies elements to the output.
HWY_INLINE void write(const InterpolateArgs& args, const StreamWriter& stream, const float* from, int64_t count,
                      float* to) {
  if (args.stream) {
    stream.copy(to, from, static_cast<size_t>(count));
  } else {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}
HWY_INLINE void write(const InterpolateArgs& args, const StreamWriter& stream, const Half* from, int64_t count,
                      Half* to) {
  if (args.stream) {
    stream.copy(reinterpret_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from),
                static_cast<size_t>(count));
  } else {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Half));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

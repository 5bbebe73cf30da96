// Three interpolate backward, native algorithm: work items, and the input and output of a strip of channels.
// Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H
#undef MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_BACKWARD_STRIP_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/sizes.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "primitives/half-inl.h"
#include "primitives/stream-inl.h"
#include "primitives/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::unpack;

constexpr int64_t kStrip = Tiling::kStrip;
using D = hn::CappedTag<float, kStrip>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Points of a square of kLanes channels that is transposed in registers.
template <class T>
constexpr int64_t kSquarePoints{kLanes * kPacked<T>};

// A work item as its part of the tensors. T, here and below: float or Half.
template <class T>
struct WorkItem {
  WorkItem(const Args& args, const Tiling& tiling, int64_t number) {
    const int64_t channel_tiles = tiling.channel_tiles(args);
    const int64_t feature_tiles = tiling.feature_tiles(args);
    const int64_t first_channel = number % channel_tiles * tiling.channels;
    b = number / channel_tiles / feature_tiles;
    first_feature = number / channel_tiles % feature_tiles * tiling.features;
    features = std::min(tiling.features, args.M - first_feature);
    channels = std::min(tiling.channels, args.C - first_channel);
    grad_output = static_cast<const T*>(args.grad_output) + (b * args.C + first_channel) * args.N;
    indices = args.indices + b * args.N * 3;
    weights = static_cast<const T*>(args.weights) + b * args.N * 3;
    grad_features = static_cast<T*>(args.grad_features) + (b * args.C + first_channel) * args.M + first_feature;
  }

  // Whether an int32_t can be the index of one of the features.
  bool indexable() const { return first_feature <= std::numeric_limits<int32_t>::max(); }

  int64_t b, first_feature, features, channels;
  const T* grad_output;    // [channels, N]
  const int32_t* indices;  // [N, 3]
  const T* weights;        // [N, 3]
  T* grad_features;        // [channels, features], rows M apart
};

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

// Transposes the sums of kLanes features and of a strip of channels, rows Co apart, to rows of `stride` elements
// at `to`; zeroes them if kClear. Not inlined: in the loop over features, the compiler would keep a multiple of
// the stride for each row in vectors.
template <bool kClear, class T>
HWY_NOINLINE void transpose_square(float* sums, int64_t Co, T* to, int64_t stride) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, sums + channel, Co, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
      if constexpr (kClear) hn::Store(hn::Zero(d), d, sums + i * Co + channel);
      store_f32(columns[i], d, to + (channel + i) * stride);
    }
  }
}

// The same for `count` features, a multiple of kStrip.
template <bool kClear, class T>
HWY_INLINE void transpose_sums(float* sums, int64_t Co, int64_t count, T* to, int64_t stride) {
  for (int64_t m = 0; m < count; m += kLanes) transpose_square<kClear>(sums + m * Co, Co, to + m, stride);
}

HWY_INLINE void stream_row(const StreamWriter& stream, float* to, const float* from, size_t count) {
  stream.copy(to, from, count);
}
HWY_INLINE void stream_row(const StreamWriter& stream, Half* to, const Half* from, size_t count) {
  stream.copy(reinterpret_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from), count);
}

// Writes the first `channels` channels of a strip of sums, [features, Co], to rows M apart at `to`; zeroes the
// sums if kClear. The output bypasses the caches unless `stream` is null.
template <bool kClear, class T>
HWY_INLINE void write_strip(float* sums, int64_t Co, int64_t features, int64_t channels, T* to, int64_t M,
                            const StreamWriter* stream, const RowBuffer<T>& rows) {
  constexpr int64_t kRun = RowBuffer<T>::kRunFeatures;
  // Whole squares are transposed into the output unless it bypasses the caches. Non-temporal stores pay for whole
  // lines only: the features of an incomplete line are written with the next run.
  const int64_t start = stream != nullptr || channels < kStrip ? 0 : features / kStrip * kStrip;
  transpose_sums<kClear>(sums, Co, start, to, M);
  for (int64_t first = start; first < features; first += kRun) {
    const int64_t last = std::min(first + kRun, features);
    transpose_sums<kClear>(sums + first * Co, Co, round_up(last - first, kStrip), rows.run_of(0),
                           RowBuffer<T>::kStride);
    for (int64_t c = 0; c < channels; ++c) {
      T* out = to + c * M;
      T* run = rows.run_of(c);
      const auto line_start = [&](int64_t feature) {
        const uintptr_t into_line = reinterpret_cast<uintptr_t>(out + feature) % kCacheLine;
        return std::max(feature - static_cast<int64_t>(into_line / sizeof(T)), start);
      };
      const int64_t begin = line_start(first);
      const int64_t end = last == features ? last : line_start(last);
      const auto count = static_cast<size_t>(end - begin);
      if (stream != nullptr) {
        stream_row(*stream, out + begin, run + begin - first, count);
      } else {
        std::memcpy(out + begin, run + begin - first, count * sizeof(T));
      }
      std::memcpy(run - kLineElements<T>, run + kRun - kLineElements<T>, kCacheLine);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

// Three interpolate backward: from the sums of features in NRAM to the output. Per-target code of Highway: include
// it inside foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_INL_H
#undef MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/sizes.h"
#include "ops/three_interpolate_backward/item.h"
#include "ops/three_interpolate_backward/tile.h"
#include "primitives/stream-inl.h"
#include "primitives/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kPacked;
using mluop::HWY_NAMESPACE::load_float;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_float;
using mluop::HWY_NAMESPACE::stream_copy;
using mluop::HWY_NAMESPACE::unpack;

constexpr int64_t kStrip = Tiling::kStrip;
using D = hn::CappedTag<float, kStrip>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kLine = 64;

// Points of kLanes channels that are transposed at once.
template <class T>
constexpr int64_t kPoints{kLanes * kPacked<T>};

// Transposes the sums of kLanes features, rows Co apart, and of a strip of channels to rows of `stride` elements
// at `to`; clears them if kClear. No part of the loop over features: the compiler would keep a multiple of the
// stride for each row, in vectors.
template <bool kClear, class T>
HWY_NOINLINE void take_square(float* sums, int64_t Co, T* to, int64_t stride) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, sums + channel, Co, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
      if constexpr (kClear) hn::Store(hn::Zero(d), d, sums + i * Co + channel);
      store_float(columns[i], d, to + (channel + i) * stride);
    }
  }
}

// The same for `count` features, a multiple of kStrip.
template <bool kClear, class T>
HWY_INLINE void take_sums(float* sums, int64_t Co, int64_t count, T* to, int64_t stride) {
  for (int64_t m = 0; m < count; m += kLanes) take_square<kClear>(sums + m * Co, Co, to + m, stride);
}

HWY_INLINE void stream_row(float* to, const float* from, size_t count) { stream_copy(to, from, count); }
HWY_INLINE void stream_row(Half* to, const Half* from, size_t count) {
  stream_copy(reinterpret_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from), count);
}

// Writes a strip of `channels` channels of features, from [Mo, Co] sums to rows M apart; leaves zeros
// behind if kClear.
template <bool kClear, class T>
HWY_INLINE void write_strip(float* sums, int64_t Co, int64_t features, int64_t channels, T* to, int64_t M,
                            bool stream, const Rows<T>& rows) {
  constexpr int64_t kFeatures = Rows<T>::kFeatures;
  // Whole square tiles go straight to the output, unless it bypasses the caches. For that, lines are written
  // whole: what would fill a line in part is carried over to the next part of the row.
  const int64_t start = stream || channels < kStrip ? 0 : features / kStrip * kStrip;
  take_sums<kClear>(sums, Co, start, to, M);
  for (int64_t first = start; first < features; first += kFeatures) {
    const int64_t last = std::min(first + kFeatures, features);
    take_sums<kClear>(sums + first * Co, Co, round_up(last - first, kStrip), rows.of(0), Rows<T>::kRow);
    for (int64_t c = 0; c < channels; ++c) {
      T* out = to + c * M;
      T* row = rows.of(c);
      const auto line_start = [&](int64_t feature) {
        const uintptr_t into_line = reinterpret_cast<uintptr_t>(out + feature) % kLine;
        return std::max(feature - static_cast<int64_t>(into_line / sizeof(T)), start);
      };
      const int64_t begin = line_start(first);
      const int64_t end = last == features ? last : line_start(last);
      const auto count = static_cast<size_t>(end - begin);
      if (stream) {
        stream_row(out + begin, row + begin - first, count);
      } else {
        std::memcpy(out + begin, row + begin - first, count * sizeof(T));
      }
      std::memcpy(row - Rows<T>::kCarried, row + kFeatures - Rows<T>::kCarried, kLine);
    }
  }
}

// Copies `points` points of `channels` rows to rows of kPoints: where the tensor ends within a tile.
template <class T>
HWY_INLINE void copy_edge(const T* from, int64_t stride, int64_t points, int64_t channels, T* edge) {
  const auto bytes = static_cast<size_t>(points) * sizeof(T);
  for (int64_t c = 0; c < channels; ++c) std::memcpy(edge + c * kPoints<T>, from + c * stride, bytes);
}

// to[0, count) = from[0, count), as floats.
HWY_INLINE void widen(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
HWY_INLINE void widen(const Half* from, int64_t count, float* to) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::Store(load_float(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward
HWY_AFTER_NAMESPACE();

#endif  // include guard

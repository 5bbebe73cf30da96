// Three interpolate backward: writes sums from NRAM to the output. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_STRIP_INL_H
#undef MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_STRIP_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_BACKWARD_WRITE_STRIP_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/sizes.h"
#include "ops/three_interpolate_backward/native/strip-inl.h"
#include "ops/three_interpolate_backward/native/tile.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::StreamWriter;

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
  constexpr int64_t kChunk = RowBuffer<T>::kChunkFeatures;
  // Whole squares are transposed into the output unless it bypasses the caches. Non-temporal stores pay for whole
  // lines only: the features of an incomplete line are written with the next chunk.
  const int64_t start = stream != nullptr || channels < kStrip ? 0 : features / kStrip * kStrip;
  transpose_sums<kClear>(sums, Co, start, to, M);
  for (int64_t first = start; first < features; first += kChunk) {
    const int64_t last = std::min(first + kChunk, features);
    transpose_sums<kClear>(sums + first * Co, Co, round_up(last - first, kStrip), rows.chunk(0),
                           RowBuffer<T>::kStride);
    for (int64_t c = 0; c < channels; ++c) {
      T* out = to + c * M;
      T* chunk = rows.chunk(c);
      const auto line_start = [&](int64_t feature) {
        const uintptr_t into_line = reinterpret_cast<uintptr_t>(out + feature) % kCacheLine;
        return std::max(feature - static_cast<int64_t>(into_line / sizeof(T)), start);
      };
      const int64_t begin = line_start(first);
      const int64_t end = last == features ? last : line_start(last);
      const auto count = static_cast<size_t>(end - begin);
      if (stream != nullptr) {
        stream_row(*stream, out + begin, chunk + begin - first, count);
      } else {
        std::memcpy(out + begin, chunk + begin - first, count * sizeof(T));
      }
      std::memcpy(chunk - kLineElements<T>, chunk + kChunk - kLineElements<T>, kCacheLine);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

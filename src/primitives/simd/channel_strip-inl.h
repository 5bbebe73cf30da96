// Strips of channels: transposing squares of points in registers, adding points to rows of sums in NRAM, and
// writing the sums to the output. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_CHANNEL_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_CHANNEL_STRIP_INL_H
#undef MLUOP_PRIMITIVES_CHANNEL_STRIP_INL_H
#else
#define MLUOP_PRIMITIVES_CHANNEL_STRIP_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/sizes.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/channel_strip.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using StripTag = hn::CappedTag<float, kStripChannels>;
constexpr auto kStripLanes = static_cast<int64_t>(hn::MaxLanes(StripTag()));

// Points of a square of kStripLanes channels that is transposed in registers. T, here and below: an element type.
template <class T>
constexpr int64_t kSquarePoints{kStripLanes * kPacked<T>};

// local[0, count) = the rows of indices[0, count) in the sums. Features of other work items get the rows from
// `features` on, a separate row for each lane, because additions to one row would wait for each other.
HWY_INLINE void localize_indices(const int32_t* indices, int64_t count, int64_t first_feature, int64_t features,
                                 int32_t* local) {
  const hn::RebindToUnsigned<StripTag> d;
  const auto first = static_cast<uint32_t>(first_feature), other = static_cast<uint32_t>(features);
  const auto first_of_lanes = hn::Set(d, first);
  const auto other_of_lanes = hn::Iota(d, other);
  // As unsigned numbers, differences of features before the first are large.
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  auto* to = reinterpret_cast<uint32_t*>(local);
  int64_t i = 0;
  for (; i + kStripLanes <= count; i += kStripLanes) {
    hn::Store(hn::Min(hn::Sub(hn::LoadU(d, values + i), first_of_lanes), other_of_lanes), d, to + i);
  }
  for (; i < count; ++i) to[i] = std::min(values[i] - first, other);
}

// Lookahead in the rows of a strip of channels. Measured on rows of 4 to 16 KiB: 256 and 512 bytes are slower.
constexpr int64_t kLookaheadBytes = 384;

// Prefetches the points one lookahead after point n of `channels` rows of N points; past the end of these rows,
// points of the next rows, which follow in memory.
template <class T>
HWY_INLINE void prefetch_points(const T* rows, int64_t n, int64_t N, int64_t channels) {
  const int64_t ahead = n + std::min(kLookaheadBytes / static_cast<int64_t>(sizeof(T)), N);
  const T* from = rows + (ahead < N ? ahead : ahead - N + channels * N);
  for (int64_t c = 0; c < channels; ++c) __builtin_prefetch(from + c * N);
}

// Copies `points` points of `channels` rows, an incomplete square, to rows of kSquarePoints.
template <class T>
HWY_INLINE void copy_edge(const T* from, int64_t stride, int64_t points, int64_t channels, T* edge) {
  const auto bytes = static_cast<size_t>(points) * sizeof(T);
  for (int64_t c = 0; c < channels; ++c) std::memcpy(edge + c * kSquarePoints<T>, from + c * stride, bytes);
}

// Adds points one at a time to kStripLanes channels of the sums of their features. Groups of ball query repeat a
// feature: its sums stay in a register, so that the next addition does not wait for the last store.
class PointAdder {
 public:
  explicit PointAdder(float* sums) : sums_(sums) {}

  HWY_INLINE void add(int32_t feature, hn::Vec<StripTag> channels) {
    const StripTag d;
    float* to = sums_ + feature * kStripChannels;
    if (feature != feature_) current_ = hn::Load(d, to);
    current_ = hn::Add(current_, channels);
    hn::Store(current_, d, to);
    feature_ = feature;
  }

 private:
  float* sums_;
  int32_t feature_ = -1;
  hn::Vec<StripTag> current_ = hn::Zero(StripTag());  // sums of feature_
};

// Adds kSquarePoints points, whose channels are rows of `stride` elements at `from`, to the sums of their
// features. Not inlined: in the loop over points, the compiler would keep a multiple of the stride for each row in
// vectors.
template <class T>
HWY_NOINLINE void add_square(const T* from, int64_t stride, const int32_t* features, float* sums) {
  const StripTag d;
  for (int64_t channel = 0; channel < kStripChannels; channel += kStripLanes) {
    hn::Vec<StripTag> columns[kStripLanes];
    load_transposed(d, from + channel * stride, stride, columns);
    PointAdder adder(sums + channel);
    HWY_UNROLL(16) for (int64_t i = 0; i < kStripLanes; ++i) {
      const int32_t* feature = features + i * kPacked<T>;
      adder.add(feature[0], unpack<T, 0>(d, columns[i]));
      if constexpr (kPacked<T> == 2) adder.add(feature[1], unpack<T, 1>(d, columns[i]));
    }
  }
}

// Transposes the sums of kStripLanes features and of a strip of channels, rows Co apart, to rows of `stride`
// elements at `to`; zeroes them if kClear. Not inlined: in the loop over features, the compiler would keep a
// multiple of the stride for each row in vectors.
template <bool kClear, class T>
HWY_NOINLINE void transpose_square(float* sums, int64_t Co, T* to, int64_t stride) {
  const StripTag d;
  for (int64_t channel = 0; channel < kStripChannels; channel += kStripLanes) {
    hn::Vec<StripTag> columns[kStripLanes];
    load_transposed(d, sums + channel, Co, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kStripLanes; ++i) {
      if constexpr (kClear) hn::Store(hn::Zero(d), d, sums + i * Co + channel);
      store_f32(columns[i], d, to + (channel + i) * stride);
    }
  }
}

// The same for 2 kStripLanes features: 16-bit elements are transposed in pairs, with half the shuffles.
template <bool kClear, Element16 T>
HWY_NOINLINE void transpose_pairs(float* sums, int64_t Co, T* to, int64_t stride) {
  const StripTag d;
  for (int64_t channel = 0; channel < kStripChannels; channel += kStripLanes) {
    alignas(kCacheLine) float pairs[kStripLanes * kStripLanes];
    float* from = sums + channel;
    HWY_UNROLL(4) for (int64_t i = 0; i < kStripLanes; ++i, from += 2 * Co) {
      hn::Store(round_pairs<T>(d, hn::Load(d, from), hn::Load(d, from + Co)), d, pairs + i * kStripLanes);
      if constexpr (kClear) {
        hn::Store(hn::Zero(d), d, from);
        hn::Store(hn::Zero(d), d, from + Co);
      }
    }
    hn::Vec<StripTag> columns[kStripLanes];
    load_transposed(d, pairs, kStripLanes, columns);
    HWY_UNROLL(16) for (int64_t i = 0; i < kStripLanes; ++i) {
      hn::StoreU(columns[i], d, reinterpret_cast<float*>(to + (channel + i) * stride));
    }
  }
}

// The same for `count` features, a multiple of kStripChannels.
template <bool kClear, class T>
HWY_INLINE void transpose_sums(float* sums, int64_t Co, int64_t count, T* to, int64_t stride) {
  int64_t m = 0;
  if constexpr (Element16<T>) {
    for (; m + kSquarePoints<T> <= count; m += kSquarePoints<T>) {
      transpose_pairs<kClear>(sums + m * Co, Co, to + m, stride);
    }
  }
  for (; m < count; m += kStripLanes) transpose_square<kClear>(sums + m * Co, Co, to + m, stride);
}

// Writes the first `channels` channels of a strip of sums, [features, Co], to rows M apart at `to`; zeroes the
// sums if kClear. The output bypasses the caches unless `stream` is null.
template <bool kClear, class T>
HWY_INLINE void write_strip(float* sums, int64_t Co, int64_t features, int64_t channels, T* to, int64_t M,
                            const StreamWriter* stream, const RowBuffer<T>& rows) {
  constexpr int64_t kRun = RowBuffer<T>::kRunFeatures;
  // Whole squares are transposed into the output unless it bypasses the caches. Non-temporal stores pay off only
  // for whole lines: the features of an incomplete line are written with the next run.
  const int64_t start =
      stream != nullptr || channels < kStripChannels ? 0 : features / kStripChannels * kStripChannels;
  transpose_sums<kClear>(sums, Co, start, to, M);
  for (int64_t first = start; first < features; first += kRun) {
    const int64_t last = std::min(first + kRun, features);
    transpose_sums<kClear>(sums + first * Co, Co, round_up(last - first, kStripChannels), rows.run_of(0),
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
        stream->copy(out + begin, run + begin - first, count);
      } else {
        std::memcpy(out + begin, run + begin - first, count * sizeof(T));
      }
      std::memcpy(run - kLineElements<T>, run + kRun - kLineElements<T>, kCacheLine);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

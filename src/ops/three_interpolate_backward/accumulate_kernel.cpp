#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/accumulate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/sizes.h"
#include "ops/three_interpolate_backward/kernels.h"
#include "ops/three_interpolate_backward/tile.h"
#include "primitives/stream-inl.h"
#include "primitives/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::load_float;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::store_float;
using mluop::HWY_NAMESPACE::stream_copy;

constexpr int64_t kCo = Tiling::kChannels;
using D = hn::CappedTag<float, kCo>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// The rows of a block of channels are fetched so far ahead. Measured on rows of 4 and 16 KiB.
constexpr int64_t kPrefetchBytes = 512;
constexpr int64_t kLine = 64;

// A work item: its part of the tensors.
template <class T>
struct Item {
  Item(const AccumulateArgs& args, int64_t number) {
    const Args& call = args.call;
    const int64_t blocks = args.tiling.blocks(call);
    const int64_t chunks = args.tiling.chunks(call);
    const int64_t channel = number % blocks * kCo;
    const int64_t b = number / blocks / chunks;
    first_feature = number / blocks % chunks * args.tiling.features;
    features = std::min(args.tiling.features, call.M - first_feature);
    channels = std::min(kCo, call.C - channel);
    grad_output = static_cast<const T*>(call.grad_output) + (b * call.C + channel) * call.N;
    indices = call.indices + b * call.N * 3;
    weights = static_cast<const T*>(call.weights) + b * call.N * 3;
    grad_features = static_cast<T*>(call.grad_features) + (b * call.C + channel) * call.M + first_feature;
  }

  // Whether an index can name its features at all.
  bool reachable() const { return first_feature <= std::numeric_limits<int32_t>::max(); }

  int64_t first_feature, features, channels;
  const T* grad_output;    // [channels, N]
  const int32_t* indices;  // [N, 3]
  const T* weights;        // [N, 3]
  T* grad_features;        // [channels, features], rows M apart
};

// Finds the places of count indices. Those outside of the item's features go to the places from `spare` on, in
// turns: an addition need not wait for the one before.
HWY_INLINE void find_places(const int32_t* indices, int64_t count, int64_t first_feature, uint32_t spare,
                            uint32_t* places) {
  const hn::CappedTag<uint32_t, kCo> d;
  const auto first = hn::Set(d, static_cast<uint32_t>(first_feature));
  const auto most = hn::Iota(d, spare);
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    // As unsigned numbers: indices below the first are large.
    const auto feature = hn::Min(hn::Sub(hn::LoadU(d, values + i), first), most);
    static_assert(kCo == 1 << 4);
    hn::Store(hn::ShiftLeft<4>(feature), d, places + i);
  }
  for (; i < count; ++i) {
    places[i] = std::min(values[i] - static_cast<uint32_t>(first_feature), spare) * kCo;
  }
}

HWY_INLINE void widen(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
HWY_INLINE void widen(const Half* from, int64_t count, float* to) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::Store(load_float(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

// Adds kLanes points, whose channels are rows of `stride` elements at `from`, to the sums of their features.
template <class T>
HWY_INLINE void add_points(const T* from, int64_t stride, const uint32_t* places, const float* weights,
                           float* sums) {
  const D d;
  for (int64_t channel = 0; channel < kCo; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, from + channel * stride, stride, columns);
    HWY_UNROLL(16) for (int64_t n = 0; n < kLanes; ++n) {
      HWY_UNROLL(3) for (int64_t slot = n * 3; slot < n * 3 + 3; ++slot) {
        float* sum = sums + places[slot] + channel;
        hn::Store(hn::Add(hn::Load(d, sum), hn::Mul(columns[n], hn::Set(d, weights[slot]))), d, sum);
      }
    }
  }
}

// Fetches what lies some way behind point n of each channel: of the item, or of the next, which follows in memory.
template <class T>
HWY_INLINE void prefetch_points(const Item<T>& item, int64_t n, int64_t N) {
  const int64_t ahead = n + std::min(kPrefetchBytes / static_cast<int64_t>(sizeof(T)), N);
  const T* from = item.grad_output + (ahead < N ? ahead : ahead - N + item.channels * N);
  // Into the second level: rows may share their place in the first, and would displace each other.
  for (int64_t c = 0; c < item.channels; ++c) __builtin_prefetch(from + c * N, 0, 2);
}

template <class T>
HWY_INLINE void add_all_points(const Item<T>& item, int64_t N, const Tile<T>& tile) {
  const auto spare = static_cast<uint32_t>(tile.features);
  if (!item.reachable()) return;
  for (int64_t first = 0; first < N; first += Tiling::kPoints) {
    const int64_t count = std::min(Tiling::kPoints, N - first);
    const int64_t padded = round_up(count, kLanes);
    find_places(item.indices + first * 3, count * 3, item.first_feature, spare, tile.places);
    std::fill(tile.places + count * 3, tile.places + padded * 3, spare * static_cast<uint32_t>(kCo));
    const float* weights = tile.weights;
    if constexpr (std::is_same_v<T, float>) {
      if (padded == count) weights = item.weights + first * 3;
    }
    if (weights == tile.weights) widen(item.weights + first * 3, count * 3, tile.weights);
    for (int64_t n = 0; n < count; n += kLanes) {
      if (n * static_cast<int64_t>(sizeof(T)) % kLine == 0) prefetch_points(item, first + n, N);
      const T* from = item.grad_output + first + n;
      int64_t stride = N;
      if (n + kLanes > count || item.channels < kCo) {
        const auto points = static_cast<size_t>(std::min(kLanes, count - n));
        for (int64_t c = 0; c < item.channels; ++c) {
          std::memcpy(tile.edge + c * kLanes, from + c * N, points * sizeof(T));
        }
        from = tile.edge;
        stride = kLanes;
      }
      add_points(from, stride, tile.places + n * 3, weights + n * 3, tile.sums);
    }
  }
}

// Transposes the sums of features [first, first + count), a multiple of kCo, to rows of `stride` elements at `to`,
// and clears them.
template <class T>
HWY_INLINE void take_sums(const Tile<T>& tile, int64_t first, int64_t count, T* to, int64_t stride) {
  const D d;
  for (int64_t m = 0; m < count; m += kLanes) {
    for (int64_t channel = 0; channel < kCo; channel += kLanes) {
      float* sums = tile.sums + (first + m) * kCo + channel;
      hn::Vec<D> columns[kLanes];
      load_transposed(d, sums, kCo, columns);
      HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
        hn::Store(hn::Zero(d), d, sums + i * kCo);
        store_float(columns[i], d, to + (channel + i) * stride + m);
      }
    }
  }
}

HWY_INLINE void stream_row(float* to, const float* from, size_t count) { stream_copy(to, from, count); }
HWY_INLINE void stream_row(Half* to, const Half* from, size_t count) {
  stream_copy(reinterpret_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from), count);
}

// Writes the sums of the item and leaves zeros behind.
template <class T>
HWY_INLINE void write_features(const Item<T>& item, int64_t M, bool stream, const Tile<T>& tile) {
  // Whole square tiles go straight to the output, unless it bypasses the caches. For that, lines are written
  // whole: what would fill a line in part is carried over to the next part of the row.
  const int64_t start = stream || item.channels < kCo ? 0 : item.features / kCo * kCo;
  take_sums(tile, 0, start, item.grad_features, M);
  for (int64_t first = start; first < item.features; first += Tiling::kFeatures) {
    const int64_t last = std::min(first + Tiling::kFeatures, item.features);
    take_sums(tile, first, round_up(last - first, kCo), tile.row(0), Tile<T>::kRow);
    for (int64_t c = 0; c < item.channels; ++c) {
      T* out = item.grad_features + c * M;
      T* row = tile.row(c);
      const auto line_start = [&](int64_t feature) {
        const uintptr_t into_line = reinterpret_cast<uintptr_t>(out + feature) % kLine;
        return std::max(feature - static_cast<int64_t>(into_line / sizeof(T)), start);
      };
      const int64_t begin = line_start(first);
      const int64_t end = last == item.features ? last : line_start(last);
      const auto count = static_cast<size_t>(end - begin);
      if (stream) {
        stream_row(out + begin, row + begin - first, count);
      } else {
        std::memcpy(out + begin, row + begin - first, count * sizeof(T));
      }
      std::memcpy(row - Tile<T>::kCarried, row + Tiling::kFeatures - Tile<T>::kCarried, kLine);
    }
  }
}

HWY_INLINE float widen(float value) { return value; }
HWY_INLINE float widen(Half value) { return to_float(value); }

// All of an item of one channel, which fills no vector: its sums are a row, tile.sums[0, Mo).
template <class T>
HWY_INLINE void accumulate_channel(const Item<T>& item, int64_t N, const Tile<T>& tile) {
  const auto spare = static_cast<uint32_t>(tile.features);
  const auto place = [&](int32_t index) {
    return std::min(static_cast<uint32_t>(index) - static_cast<uint32_t>(item.first_feature), spare);
  };
  for (int64_t n = 0; n < N && item.reachable(); ++n) {
    const float gradient = widen(item.grad_output[n]);
    for (int64_t slot = n * 3; slot < n * 3 + 3; ++slot) {
      tile.sums[place(item.indices[slot])] += gradient * widen(item.weights[slot]);
    }
  }
  const D d;
  const int64_t whole = item.features / kLanes * kLanes;
  for (int64_t m = 0; m < whole; m += kLanes) store_float(hn::Load(d, tile.sums + m), d, item.grad_features + m);
  hn::Vec<D> rest = hn::Load(d, tile.sums + whole);
  T last[kLanes];
  store_float(rest, d, last);
  std::copy_n(last, item.features - whole, item.grad_features + whole);
  std::fill_n(tile.sums, tile.features + 1, 0.0F);
}

template <class T>
void accumulate(const AccumulateArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile<T> tile(task.nram, static_cast<size_t>(args.tiling.features));
  // Rows of channels that an item does not have stay as they are.
  std::memset(tile.edge, 0, kCo * kCo * sizeof(T));
  std::memset(tile.sums, 0, static_cast<size_t>((args.tiling.features + kCo) * kCo) * sizeof(float));
  for (int64_t number = begin; number < end; ++number) {
    const Item<T> item(args, number);
    if (item.channels == 1) {
      accumulate_channel(item, args.call.N, tile);
      continue;
    }
    add_all_points(item, args.call.N, tile);
    write_features(item, args.call.M, args.tiling.stream, tile);
  }
  hwy::FlushStream();
}

void accumulate_float(const AccumulateArgs& args, int64_t begin, int64_t end, Task& task) {
  accumulate<float>(args, begin, end, task);
}

void accumulate_half(const AccumulateArgs& args, int64_t begin, int64_t end, Task& task) {
  accumulate<Half>(args, begin, end, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward {

HWY_EXPORT(accumulate_float);
HWY_EXPORT(accumulate_half);

RangeKernel<AccumulateArgs> accumulate_kernel(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF ? HWY_DYNAMIC_DISPATCH(accumulate_half)
                                   : HWY_DYNAMIC_DISPATCH(accumulate_float);
}

}  // namespace mluop::three_interpolate_backward
#endif

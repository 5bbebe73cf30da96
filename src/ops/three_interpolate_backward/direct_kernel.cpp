#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/direct_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/sizes.h"
#include "ops/three_interpolate_backward/item.h"
#include "ops/three_interpolate_backward/kernels.h"
#include "ops/three_interpolate_backward/tile.h"
#include "ops/three_interpolate_backward/write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// The rows of a strip of channels are fetched so far ahead. Measured on rows of 4 and 16 KiB.
constexpr int64_t kPrefetchBytes = 512;

// Whether an index can name the item's features at all.
template <class T>
bool reachable(const Item<T>& item) {
  return item.first_feature <= std::numeric_limits<int32_t>::max();
}

// Finds the places of count indices. Those outside of the item's features go to the places from `spare` on, in
// turns: an addition need not wait for the one before.
HWY_INLINE void find_places(const int32_t* indices, int64_t count, int64_t first_feature, uint32_t spare,
                            uint32_t* places) {
  const hn::CappedTag<uint32_t, kStrip> d;
  const auto first = hn::Set(d, static_cast<uint32_t>(first_feature));
  const auto most = hn::Iota(d, spare);
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    // As unsigned numbers: indices below the first are large.
    const auto feature = hn::Min(hn::Sub(hn::LoadU(d, values + i), first), most);
    static_assert(kStrip == 1 << 4);
    hn::Store(hn::ShiftLeft<4>(feature), d, places + i);
  }
  for (; i < count; ++i) {
    places[i] = std::min(values[i] - static_cast<uint32_t>(first_feature), spare) * kStrip;
  }
}

// Adds kLanes points, whose channels are rows of `stride` elements at `from`, to the sums of their features.
template <class T>
HWY_INLINE void add_points(const T* from, int64_t stride, const uint32_t* places, const float* weights,
                           float* sums) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
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
HWY_INLINE void add_all_points(const Item<T>& item, int64_t N, const DirectTile<T>& tile) {
  const auto spare = static_cast<uint32_t>(tile.features);
  if (!reachable(item)) return;
  for (int64_t first = 0; first < N; first += DirectTile<T>::kPoints) {
    const int64_t count = std::min(DirectTile<T>::kPoints, N - first);
    const int64_t padded = round_up(count, kLanes);
    find_places(item.indices + first * 3, count * 3, item.first_feature, spare, tile.places);
    std::fill(tile.places + count * 3, tile.places + padded * 3, spare * static_cast<uint32_t>(kStrip));
    const float* weights = tile.weights;
    if constexpr (std::is_same_v<T, float>) {
      if (padded == count) weights = item.weights + first * 3;
    }
    if (weights == tile.weights) widen(item.weights + first * 3, count * 3, tile.weights);
    for (int64_t n = 0; n < count; n += kLanes) {
      if (n * static_cast<int64_t>(sizeof(T)) % kLine == 0) prefetch_points(item, first + n, N);
      const T* from = item.grad_output + first + n;
      int64_t stride = N;
      if (n + kLanes > count || item.channels < kStrip) {
        copy_edge(from, N, std::min(kLanes, count - n), item.channels, tile.edge);
        from = tile.edge;
        stride = kLanes;
      }
      add_points(from, stride, tile.places + n * 3, weights + n * 3, tile.sums);
    }
  }
}

// from[0, count) as floats: there, or in `buffer`.
HWY_INLINE const float* as_floats(const float* from, int64_t, float*) { return from; }
HWY_INLINE const float* as_floats(const Half* from, int64_t count, float* buffer) {
  widen(from, count, buffer);
  return buffer;
}

// Adds all points of an item of one channel, which fills no vector, to a row of sums; place(index) is where.
template <class T, class Place>
HWY_INLINE void add_channel(const Item<T>& item, int64_t N, const DirectTile<T>& tile, const Place& place) {
  for (int64_t first = 0; first < N; first += DirectTile<T>::kPoints) {
    const int64_t count = std::min(DirectTile<T>::kPoints, N - first);
    const int32_t* indices = item.indices + first * 3;
    const float* weights = as_floats(item.weights + first * 3, count * 3, tile.weights);
    const float* gradients = as_floats(item.grad_output + first, count, tile.gradients);
    for (int64_t n = 0; n < count; ++n) {
      HWY_UNROLL(3) for (int64_t slot = n * 3; slot < n * 3 + 3; ++slot) {
        tile.sums[place(indices[slot])] += gradients[n] * weights[slot];
      }
    }
  }
}

// All of an item of one channel.
template <class T>
HWY_INLINE void sum_channel(const Item<T>& item, const Args& call, const DirectTile<T>& tile) {
  if (item.features == call.M) {
    add_channel(item, call.N, tile, [](int32_t index) { return index; });
  } else if (reachable(item)) {
    const auto first = static_cast<uint32_t>(item.first_feature), spare = static_cast<uint32_t>(item.features);
    add_channel(item, call.N, tile,
                [=](int32_t index) { return std::min(static_cast<uint32_t>(index) - first, spare); });
  }
  const D d;
  const int64_t whole = item.features / kLanes * kLanes;
  for (int64_t m = 0; m < whole; m += kLanes) store_float(hn::Load(d, tile.sums + m), d, item.grad_features + m);
  T last[kLanes];
  store_float(hn::Load(d, tile.sums + whole), d, last);
  std::copy_n(last, item.features - whole, item.grad_features + whole);
  std::memset(tile.sums, 0, static_cast<size_t>(item.features + kStrip) * sizeof(float));
}

template <class T>
void direct(const DirectArgs& args, int64_t begin, int64_t end, Task& task) {
  const DirectTile<T> tile(task.nram, static_cast<size_t>(args.tiling.features));
  // Rows of channels that an item does not have stay as they are.
  std::memset(tile.edge, 0, kEdgeSize * sizeof(T));
  // Of an item of one channel, the sums are one row.
  const int64_t sums = (args.tiling.features + kStrip) * (args.call.C == 1 ? 1 : kStrip);
  std::memset(tile.sums, 0, static_cast<size_t>(sums) * sizeof(float));
  for (int64_t number = begin; number < end; ++number) {
    const Item<T> item(args.call, args.tiling, number);
    if (item.channels == 1) {
      sum_channel(item, args.call, tile);
      continue;
    }
    add_all_points(item, args.call.N, tile);
    write_strip<true>(tile.sums, kStrip, item.features, item.channels, item.grad_features, args.call.M,
                      args.tiling.stream, tile.rows);
  }
  hwy::FlushStream();
}

void direct_float(const DirectArgs& args, int64_t begin, int64_t end, Task& task) {
  direct<float>(args, begin, end, task);
}

void direct_half(const DirectArgs& args, int64_t begin, int64_t end, Task& task) {
  direct<Half>(args, begin, end, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward {

HWY_EXPORT(direct_float);
HWY_EXPORT(direct_half);

RangeKernel<DirectArgs> direct_kernel(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF ? HWY_DYNAMIC_DISPATCH(direct_half) : HWY_DYNAMIC_DISPATCH(direct_float);
}

}  // namespace mluop::three_interpolate_backward
#endif

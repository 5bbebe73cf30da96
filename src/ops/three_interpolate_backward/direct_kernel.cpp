#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/direct_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
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

// The rows of a strip of channels are fetched so far ahead: 256 and 512 bytes are slower. Measured on rows of 4 to
// 16 KiB.
constexpr int64_t kPrefetchBytes = 384;

// Whether an index can name the item's features at all.
template <class T>
bool reachable(const Item<T>& item) {
  return item.first_feature <= std::numeric_limits<int32_t>::max();
}

// Numbers the features of an item from 0, for count indices. Those outside of the item get the numbers from
// `spare` on, in turns: an addition need not wait for the one before.
HWY_INLINE void number_features(const int32_t* indices, int64_t count, int64_t first_feature, uint32_t spare,
                                int32_t* numbers) {
  const hn::CappedTag<uint32_t, kStrip> d;
  const auto first = hn::Set(d, static_cast<uint32_t>(first_feature));
  const auto most = hn::Iota(d, spare);
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  auto* to = reinterpret_cast<uint32_t*>(numbers);
  int64_t i = 0;
  // As unsigned numbers: indices below the first are large.
  for (; i + kLanes <= count; i += kLanes) {
    hn::Store(hn::Min(hn::Sub(hn::LoadU(d, values + i), first), most), d, to + i);
  }
  for (; i < count; ++i) to[i] = std::min(values[i] - static_cast<uint32_t>(first_feature), spare);
}

// Adds a product to the sums of a feature.
HWY_INLINE void add_product(hn::Vec<D> column, float weight, float* sum) {
  const D d;
  hn::Store(hn::Add(hn::Load(d, sum), hn::Mul(column, hn::Set(d, weight))), d, sum);
}

// Two features by one load: loads and stores are what limits the additions.
struct TwoFeatures {
  uint64_t first, second;
};
HWY_INLINE TwoFeatures load_two(const int32_t* features) {
  uint64_t two;
  std::memcpy(&two, features, sizeof(two));
  const uint64_t lower = static_cast<uint32_t>(two), upper = two >> 32;
  if constexpr (std::endian::native == std::endian::little) {
    return {lower, upper};
  } else {
    return {upper, lower};
  }
}

// Adds two points, whose channels are v0 and v1.
HWY_INLINE void add_two_points(hn::Vec<D> v0, hn::Vec<D> v1, const int32_t* features, const float* weights,
                               float* sums) {
  HWY_UNROLL(3) for (int64_t slot = 0; slot < 6; slot += 2) {
    const TwoFeatures two = load_two(features + slot);
    add_product(slot < 3 ? v0 : v1, weights[slot], sums + two.first * kStrip);
    add_product(slot < 2 ? v0 : v1, weights[slot + 1], sums + two.second * kStrip);
  }
}

// Adds kPoints points, whose channels are rows of `stride` elements at `from`, to the sums of their features.
// No part of the loop over points: the compiler would keep a multiple of the stride for each row, in vectors.
template <class T>
HWY_NOINLINE void add_points(const T* from, int64_t stride, const int32_t* features, const float* weights,
                             float* sums) {
  const D d;
  for (int64_t channel = 0; channel < kStrip; channel += kLanes) {
    hn::Vec<D> columns[kLanes];
    load_transposed(d, from + channel * stride, stride, columns);
    float* to = sums + channel;
    if constexpr (kPacked<T> == 2) {
      HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
        add_two_points(unpack<T, 0>(d, columns[i]), unpack<T, 1>(d, columns[i]), features + i * 6, weights + i * 6,
                       to);
      }
    } else if constexpr (kLanes > 1) {
      HWY_UNROLL(8) for (int64_t i = 0; i < kLanes; i += 2) {
        add_two_points(columns[i], columns[i + 1], features + i * 3, weights + i * 3, to);
      }
    } else {
      HWY_UNROLL(3) for (int64_t slot = 0; slot < 3; ++slot) {
        add_product(columns[0], weights[slot], to + features[slot] * kStrip);
      }
    }
  }
}

// Fetches what lies some way behind point n of each channel: of the item, or of the next, which follows in memory.
template <class T>
HWY_INLINE void prefetch_points(const Item<T>& item, int64_t n, int64_t N) {
  const int64_t ahead = n + std::min(kPrefetchBytes / static_cast<int64_t>(sizeof(T)), N);
  const T* from = item.grad_output + (ahead < N ? ahead : ahead - N + item.channels * N);
  for (int64_t c = 0; c < item.channels; ++c) __builtin_prefetch(from + c * N);
}

template <class T>
HWY_INLINE void add_all_points(const Item<T>& item, const Args& call, bool fetch_ahead,
                               const DirectTile<T>& tile) {
  constexpr int64_t kStep = kPoints<T>;
  const int64_t N = call.N;
  if (!reachable(item)) return;
  for (int64_t first = 0; first < N; first += DirectTile<T>::kBlock) {
    const int64_t count = std::min(DirectTile<T>::kBlock, N - first);
    const int64_t padded = round_up(count, kStep);
    // Indices and weights are used where they are, if they are what is needed.
    const int32_t* features = item.indices + first * 3;
    if (item.features < call.M || padded > count) {
      const auto spare = static_cast<uint32_t>(tile.features);
      number_features(features, count * 3, item.first_feature, spare, tile.numbers);
      std::fill(tile.numbers + count * 3, tile.numbers + padded * 3, static_cast<int32_t>(spare));
      features = tile.numbers;
    }
    const float* weights = tile.weights;
    if constexpr (std::is_same_v<T, float>) {
      if (padded == count) weights = item.weights + first * 3;
    }
    if (weights == tile.weights) widen(item.weights + first * 3, count * 3, tile.weights);
    for (int64_t n = 0; n < count; n += kStep) {
      if (fetch_ahead && n * static_cast<int64_t>(sizeof(T)) % kLine == 0) prefetch_points(item, first + n, N);
      const T* from = item.grad_output + first + n;
      int64_t stride = N;
      if (n + kStep > count || item.channels < kStrip) {
        copy_edge(from, N, std::min(kStep, count - n), item.channels, tile.edge);
        from = tile.edge;
        stride = kStep;
      }
      add_points(from, stride, features + n * 3, weights + n * 3, tile.sums);
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
HWY_INLINE void add_channel(const Item<T>& item, int64_t N, const DirectTile<T>& tile, const Place& place,
                            float* sums) {
  for (int64_t first = 0; first < N; first += DirectTile<T>::kBlock) {
    const int64_t count = std::min(DirectTile<T>::kBlock, N - first);
    const int32_t* indices = item.indices + first * 3;
    const float* weights = as_floats(item.weights + first * 3, count * 3, tile.weights);
    const float* gradients = as_floats(item.grad_output + first, count, tile.gradients);
    for (int64_t n = 0; n < count; ++n, indices += 3, weights += 3) {
      const float gradient = gradients[n];
      sums[place(indices[0])] += gradient * weights[0];
      sums[place(indices[1])] += gradient * weights[1];
      sums[place(indices[2])] += gradient * weights[2];
    }
  }
}

constexpr auto kAllFeatures = [](int32_t index) { return index; };

// A call of one channel and all features: the output takes the sums. A row is cleared one item ahead: additions
// would wait for stores just made.
HWY_INLINE void sum_rows(const DirectArgs& args, int64_t begin, int64_t end, const DirectTile<float>& tile) {
  const Args& call = args.call;
  const auto clear = [&](int64_t number) {
    std::memset(Item<float>(call, args.tiling, number).grad_features, 0,
                static_cast<size_t>(call.M) * sizeof(float));
  };
  clear(begin);
  for (int64_t number = begin; number < end; ++number) {
    if (number + 1 < end) clear(number + 1);
    const Item<float> item(call, args.tiling, number);
    add_channel(item, call.N, tile, kAllFeatures, item.grad_features);
  }
}

// All of an item of one channel. Leaves zeros behind in NRAM.
template <class T>
HWY_INLINE void sum_channel(const Item<T>& item, const Args& call, const DirectTile<T>& tile) {
  if (item.features == call.M) {
    add_channel(item, call.N, tile, kAllFeatures, tile.sums);
  } else if (reachable(item)) {
    const auto first = static_cast<uint32_t>(item.first_feature), spare = static_cast<uint32_t>(item.features);
    const auto place = [=](int32_t index) { return std::min(static_cast<uint32_t>(index) - first, spare); };
    add_channel(item, call.N, tile, place, tile.sums);
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
  if constexpr (std::is_same_v<T, float>) {
    if (args.call.C == 1 && args.tiling.features >= args.call.M) {
      sum_rows(args, begin, end, tile);
      return;
    }
  }
  // Rows of channels that an item does not have stay as they are.
  std::memset(tile.edge, 0, kEdgeSize<T> * sizeof(T));
  // Of an item of one channel, the sums are one row.
  const int64_t sums = (args.tiling.features + kStrip) * (args.call.C == 1 ? 1 : kStrip);
  std::memset(tile.sums, 0, static_cast<size_t>(sums) * sizeof(float));
  for (int64_t number = begin; number < end; ++number) {
    const Item<T> item(args.call, args.tiling, number);
    if (item.channels == 1) {
      sum_channel(item, args.call, tile);
      continue;
    }
    add_all_points(item, args.call, args.tiling.fetch_ahead, tile);
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

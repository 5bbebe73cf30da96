#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/sum_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/sizes.h"
#include "ops/three_interpolate_backward/item.h"
#include "ops/three_interpolate_backward/kernels.h"
#include "ops/three_interpolate_backward/tile.h"
#include "ops/three_interpolate_backward/write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Transposes [channels, count] points, rows N apart, to [count, Co].
template <class T>
HWY_INLINE void transpose_points(const T* from, int64_t N, int64_t count, int64_t channels, int64_t Co,
                                 const SumTile<T>& tile) {
  constexpr int64_t kStep = kPoints<T>;
  const D d;
  for (int64_t channel = 0; channel < channels; channel += kLanes) {
    for (int64_t n = 0; n < count; n += kStep) {
      const T* rows = from + channel * N + n;
      int64_t stride = N;
      if (n + kStep > count || channel + kLanes > channels) {
        copy_edge(rows, N, std::min(kStep, count - n), std::min(kLanes, channels - channel), tile.edge);
        rows = tile.edge;
        stride = kStep;
      }
      hn::Vec<D> columns[kLanes];
      load_transposed(d, rows, stride, columns);
      float* to = tile.points + n * Co + channel;
      HWY_UNROLL(16) for (int64_t i = 0; i < kLanes; ++i) {
        hn::Store(unpack<T, 0>(d, columns[i]), d, to);
        to += Co;
        if constexpr (kPacked<T> == 2) {
          hn::Store(unpack<T, 1>(d, columns[i]), d, to);
          to += Co;
        }
      }
    }
  }
}

// The pairs of a tile's points and an item's features.
struct Pairs {
  const uint32_t* starts;     // [features + 1]
  const Groups::Pair* pairs;  // of the tile
  bool first;                 // tile of the item: sums begin at +0
};

// Adds the pairs of each feature to kVectors vectors of its sums.
template <int kVectors>
HWY_INLINE void add_pairs(const Pairs& grouped, int64_t features, int64_t Co, const float* points, float* sums) {
  const D d;
  const Groups::Pair* pair = grouped.pairs + grouped.starts[0];
  for (int64_t m = 0; m < features; ++m, sums += Co) {
    hn::Vec<D> sum[kVectors];
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      sum[v] = grouped.first ? hn::Zero(d) : hn::Load(d, sums + v * kLanes);
    }
    for (const Groups::Pair* end = grouped.pairs + grouped.starts[m + 1]; pair < end; ++pair) {
      const float* row = points + pair->place;
      const auto weight = hn::Set(d, pair->weight);
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
        sum[v] = hn::Add(sum[v], hn::Mul(hn::Load(d, row + v * kLanes), weight));
      }
    }
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * kLanes);
  }
}

// Adds the pairs of each feature to its sums, several vectors of channels at once: they share the pairs' decoding,
// and no addition waits for the one before.
HWY_INLINE void add_all_pairs(const Pairs& grouped, int64_t features, int64_t channels, int64_t Co,
                              const float* points, float* sums) {
  for (int64_t channel = 0; channel < channels;) {
    const int64_t left = ceil_div(channels - channel, kLanes);
    if (left >= 4) {
      add_pairs<4>(grouped, features, Co, points + channel, sums + channel);
      channel += 4 * kLanes;
    } else if (left >= 2) {
      add_pairs<2>(grouped, features, Co, points + channel, sums + channel);
      channel += 2 * kLanes;
    } else {
      add_pairs<1>(grouped, features, Co, points + channel, sums + channel);
      channel += kLanes;
    }
  }
}

template <class T>
void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const Tiling& tiling = args.tiling;
  const int64_t Co = tiling.channels;
  const SumTile<T> tile(task.nram, static_cast<size_t>(Co), static_cast<size_t>(tiling.points),
                        static_cast<size_t>(tiling.features));
  for (int64_t number = begin; number < end; ++number) {
    const Item<T> item(call, tiling, number);
    for (int64_t t = 0; t < tiling.tiles(call); ++t) {
      const int64_t first = t * tiling.points;
      transpose_points(item.grad_output + first, call.N, std::min(tiling.points, call.N - first), item.channels,
                       Co, tile);
      const Pairs grouped{args.groups.starts_of(call, tiling, item.b, t) + item.first_feature,
                          args.groups.pairs_of(call, tiling, item.b, t), t == 0};
      add_all_pairs(grouped, item.features, item.channels, Co, tile.points, tile.sums);
    }
    for (int64_t c = 0; c < item.channels; c += kStrip) {
      write_strip<false>(tile.sums + c, Co, item.features, std::min(kStrip, item.channels - c),
                         item.grad_features + c * call.M, call.M, tiling.stream, tile.rows);
    }
  }
}

void sum_float(const SumArgs& args, int64_t begin, int64_t end, Task& task) { sum<float>(args, begin, end, task); }

void sum_half(const SumArgs& args, int64_t begin, int64_t end, Task& task) { sum<Half>(args, begin, end, task); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward {

HWY_EXPORT(sum_float);
HWY_EXPORT(sum_half);

RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF ? HWY_DYNAMIC_DISPATCH(sum_half) : HWY_DYNAMIC_DISPATCH(sum_float);
}

}  // namespace mluop::three_interpolate_backward
#endif

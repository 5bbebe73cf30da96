#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/three_interpolate_backward_native_grouped_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "ops/three_interpolate_backward/work_item-inl.h"
#include "primitives/indices/find_bad_index-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::find_bad_index;

// A counting sort of a tile's pairs: starts[M + 1], pairs[count, 3].
template <class T>
HWY_INLINE void sort_pairs(const int32_t* indices, const T* weights, int64_t count, int64_t M, int64_t Co,
                           const GroupTile& tile, uint32_t* starts, GroupedPair* pairs) {
  // starts[m + 1] is first the number of pairs of feature m, then the position of the next pair, finally the end
  // of the pairs.
  std::fill_n(starts, M + 1, 0);
  uint32_t* const counts = starts + 1;
  for (int64_t i = 0; i < count * 3; ++i) ++counts[indices[i]];
  uint32_t* const positions = counts;
  std::exclusive_scan(counts, counts + M, positions, uint32_t{0});
  for (int64_t first = 0; first < count; first += GroupTile::kRunPoints) {
    const int64_t last = std::min(first + GroupTile::kRunPoints, count);
    load_row(weights + first * 3, (last - first) * 3, tile.weights);
    const float* weight = tile.weights;
    for (int64_t n = first; n < last; ++n) {
      const auto row_offset = static_cast<uint32_t>(n * Co);
      for (int64_t i = n * 3; i < n * 3 + 3; ++i) pairs[positions[indices[i]]++] = {row_offset, *weight++};
    }
  }
}

template <class T>
void group(const GroupArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tiling& tiling = args.tiling;
  const GroupTile tile(task.nram);
  const int64_t point_tiles = tiling.point_tiles(args);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / point_tiles;
    const int64_t t = item % point_tiles;
    const int64_t count = std::min(tiling.points, args.N - t * tiling.points);
    const int64_t first = (b * args.N + t * tiling.points) * 3;
    const int64_t bad = find_bad_index(args.indices, first, first + count * 3, args.M);
    if (bad < first + count * 3) {
      args.first_bad_index.report(bad);
      return;
    }
    sort_pairs(args.indices + first, static_cast<const T*>(args.weights) + first, count, args.M, tiling.channels,
               tile, args.scratch.starts_of(args, tiling, b, t), args.scratch.pairs_of(args, tiling, b, t));
  }
}

MLUOP_SELECT_BY_DTYPE(group, GroupArgs);

// Transposes [channels, count] points, rows N apart, to [count, Co].
template <class T>
HWY_INLINE void transpose_points(const T* from, int64_t N, int64_t count, int64_t channels, int64_t Co,
                                 const SumTile<T>& tile) {
  constexpr int64_t kStep = kSquarePoints<T>;
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

// The pairs of a point tile and of the features of a work item.
struct ItemPairs {
  const uint32_t* starts;    // [features + 1]
  const GroupedPair* pairs;  // pairs of the point tile
  bool first_tile;           // sums start at +0
};

// Adds the pairs of each feature to kStripVectors vectors of its sums. `points` and `sums` are rows Co apart.
template <int kStripVectors>
HWY_INLINE void add_vectors(const ItemPairs& item_pairs, int64_t features, int64_t Co, const float* points,
                            float* sums) {
  const D d;
  const GroupedPair* pair = item_pairs.pairs + item_pairs.starts[0];
  for (int64_t m = 0; m < features; ++m, sums += Co) {
    hn::Vec<D> sum[kStripVectors];
    HWY_UNROLL(4) for (int v = 0; v < kStripVectors; ++v) {
      sum[v] = item_pairs.first_tile ? hn::Zero(d) : hn::Load(d, sums + v * kLanes);
    }
    for (const GroupedPair* end = item_pairs.pairs + item_pairs.starts[m + 1]; pair < end; ++pair) {
      const float* row = points + pair->row_offset;
      const auto weight = hn::Set(d, pair->weight);
      HWY_UNROLL(4) for (int v = 0; v < kStripVectors; ++v) {
        sum[v] = hn::Add(sum[v], hn::Mul(hn::Load(d, row + v * kLanes), weight));
      }
    }
    HWY_UNROLL(4) for (int v = 0; v < kStripVectors; ++v) hn::Store(sum[v], d, sums + v * kLanes);
  }
}

// Adds the pairs of each feature to its sums, several vectors at a time, which share the decoding of the pairs and
// whose additions are independent.
HWY_INLINE void add_pairs(const ItemPairs& item_pairs, int64_t features, int64_t channels, int64_t Co,
                          const float* points, float* sums) {
  for (int64_t channel = 0; channel < channels;) {
    const int64_t vectors = ceil_div(channels - channel, kLanes);
    if (vectors >= 4) {
      add_vectors<4>(item_pairs, features, Co, points + channel, sums + channel);
      channel += 4 * kLanes;
    } else if (vectors >= 2) {
      add_vectors<2>(item_pairs, features, Co, points + channel, sums + channel);
      channel += 2 * kLanes;
    } else {
      add_vectors<1>(item_pairs, features, Co, points + channel, sums + channel);
      channel += kLanes;
    }
  }
}

template <class T>
void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tiling& tiling = args.tiling;
  const int64_t Co = tiling.channels;
  const SumTile<T> tile(task.nram, Co, tiling.points, tiling.features);
  // Elements past the last channel, point or feature are computed but not stored.
  std::fill_n(tile.edge, kStrip * kLineElements<T>, T{});
  std::fill_n(tile.sums, tiling.features * Co, 0.0F);
  for (int64_t number = begin; number < end; ++number) {
    const WorkItem<T> item(args, tiling, number);
    for (int64_t t = 0; t < tiling.point_tiles(args); ++t) {
      const int64_t first = t * tiling.points;
      transpose_points(item.grad_output + first, args.N, std::min(tiling.points, args.N - first), item.channels,
                       Co, tile);
      const ItemPairs item_pairs{args.scratch.starts_of(args, tiling, item.b, t) + item.first_feature,
                                 args.scratch.pairs_of(args, tiling, item.b, t), t == 0};
      add_pairs(item_pairs, item.features, item.channels, Co, tile.points, tile.sums);
    }
    for (int64_t c = 0; c < item.channels; c += kStrip) {
      // Grouped calls fit the caches.
      write_strip<false>(tile.sums + c, Co, item.features, std::min(kStrip, item.channels - c),
                         item.grad_features + c * args.M, args.M, nullptr, tile.rows);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(sum, SumArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(group_kernel, group, GroupArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_kernel, sum, SumArgs);

}  // namespace mluop::three_interpolate_backward::native
#endif

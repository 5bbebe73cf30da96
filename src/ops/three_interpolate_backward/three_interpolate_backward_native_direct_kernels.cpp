#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/three_interpolate_backward_native_direct_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "ops/three_interpolate_backward/work_item-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {

// Adds all points of an item to a row of sums; position(index): the position of a feature in the row.
template <class T, class Position>
HWY_INLINE void add_channel(const WorkItem<T>& item, int64_t N, const DirectTile<T>& tile,
                            const Position& position, float* sums) {
  constexpr int64_t kRunPoints = DirectTile<T>::kRunPoints;
  for (int64_t first = 0; first < N; first += kRunPoints) {
    const int64_t count = std::min(kRunPoints, N - first);
    const int32_t* indices = item.indices + first * 3;
    const float* weights = load_row_in_place(item.weights + first * 3, count * 3, tile.weights);
    const float* gradients = load_row_in_place(item.grad_output + first, count, tile.gradients);
    for (int64_t n = 0; n < count; ++n, indices += 3, weights += 3) {
      const float gradient = gradients[n];
      sums[position(indices[0])] += gradient * weights[0];
      sums[position(indices[1])] += gradient * weights[1];
      sums[position(indices[2])] += gradient * weights[2];
    }
  }
}

constexpr auto kPositionIsIndex = [](int32_t index) { return index; };

// The work items of a one-channel fp32 call whose features form one tile: the output holds the sums.
HWY_INLINE void sum_in_output(const DirectArgs& args, int64_t begin, int64_t end, const DirectTile<float>& tile) {
  const auto row_bytes = static_cast<size_t>(args.M) * sizeof(float);
  const auto clear = [&](int64_t number) {
    std::memset(WorkItem<float>(args, args.tiling, number).grad_features, 0, row_bytes);
  };
  // A row is cleared one item in advance; otherwise additions would wait for its stores.
  clear(begin);
  for (int64_t number = begin; number < end; ++number) {
    if (number + 1 < end) clear(number + 1);
    const WorkItem<float> item(args, args.tiling, number);
    add_channel(item, args.N, tile, kPositionIsIndex, item.grad_features);
  }
}

// A one-channel work item. The sums are zero before and after.
template <class T>
HWY_INLINE void sum_in_tile(const WorkItem<T>& item, const Args& args, const DirectTile<T>& tile) {
  if (item.features == args.M) {
    add_channel(item, args.N, tile, kPositionIsIndex, tile.sums);
  } else if (item.indexable()) {
    const auto first = static_cast<uint32_t>(item.first_feature), other = static_cast<uint32_t>(item.features);
    const auto position = [=](int32_t index) { return std::min(static_cast<uint32_t>(index) - first, other); };
    add_channel(item, args.N, tile, position, tile.sums);
  }
  const D d;
  const int64_t whole = item.features / kLanes * kLanes;
  for (int64_t m = 0; m < whole; m += kLanes) store_f32(hn::Load(d, tile.sums + m), d, item.grad_features + m);
  T last[kLanes];
  store_f32(hn::Load(d, tile.sums + whole), d, last);
  std::copy_n(last, item.features - whole, item.grad_features + whole);
  std::memset(tile.sums, 0, static_cast<size_t>(item.features + kStrip) * sizeof(float));
}

// A run of the points of an item.
struct PointRun {
  int64_t first, count;
  int64_t padded;  // count, rounded up to whole squares
};

// The local features of a run: the indices themselves if all features are in the tile.
template <class T>
HWY_INLINE const int32_t* local_features(const WorkItem<T>& item, int64_t M, const PointRun& run,
                                         const DirectTile<T>& tile) {
  const int32_t* indices = item.indices + run.first * 3;
  if (item.features == M && run.padded == run.count) return indices;
  localize_indices(indices, run.count * 3, item.first_feature, tile.features, tile.local_features);
  std::fill(tile.local_features + run.count * 3, tile.local_features + run.padded * 3,
            static_cast<int32_t>(tile.features));
  return tile.local_features;
}

// The weights of a run as fp32; padding has weight 0, and its products go to rows that are not written.
template <class T>
HWY_INLINE const float* f32_weights(const WorkItem<T>& item, const PointRun& run, const DirectTile<T>& tile) {
  const T* weights = item.weights + run.first * 3;
  if (run.padded == run.count) return load_row_in_place(weights, run.count * 3, tile.weights);
  load_row(weights, run.count * 3, tile.weights);
  std::fill(tile.weights + run.count * 3, tile.weights + run.padded * 3, 0.0F);
  return tile.weights;
}

// Adds a product to the sums of a feature.
HWY_INLINE void add_product(hn::Vec<D> channels, float weight, float* sum) {
  const D d;
  hn::Store(hn::Add(hn::Load(d, sum), hn::Mul(channels, hn::Set(d, weight))), d, sum);
}

// Two features in one load, because the rate of loads and stores limits the additions.
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

// Adds two points with the channels v0 and v1.
HWY_INLINE void add_two_points(hn::Vec<D> v0, hn::Vec<D> v1, const int32_t* features, const float* weights,
                               float* sums) {
  HWY_UNROLL(3) for (int64_t pair = 0; pair < 6; pair += 2) {
    const TwoFeatures two = load_two(features + pair);
    add_product(pair < 3 ? v0 : v1, weights[pair], sums + two.first * kStrip);
    add_product(pair < 2 ? v0 : v1, weights[pair + 1], sums + two.second * kStrip);
  }
}

// Adds kSquarePoints points, whose channels are rows of `stride` elements at `from`, to the sums of their
// features. Not inlined: in the loop over points, the compiler would keep a multiple of the stride for each row in
// vectors.
template <class T>
HWY_NOINLINE void add_square(const T* from, int64_t stride, const int32_t* features, const float* weights,
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
      HWY_UNROLL(3) for (int64_t pair = 0; pair < 3; ++pair) {
        add_product(columns[0], weights[pair], to + features[pair] * kStrip);
      }
    }
  }
}

template <class T>
HWY_INLINE void add_points(const WorkItem<T>& item, const DirectArgs& args, const DirectTile<T>& tile) {
  constexpr int64_t kStep = kSquarePoints<T>;
  constexpr int64_t kRunPoints = DirectTile<T>::kRunPoints;
  if (!item.indexable()) return;
  const int64_t N = args.N;
  for (int64_t first = 0; first < N; first += kRunPoints) {
    const int64_t count = std::min(kRunPoints, N - first);
    const PointRun run{first, count, round_up(count, kStep)};
    const int32_t* features = local_features(item, args.M, run, tile);
    const float* weights = f32_weights(item, run, tile);
    for (int64_t n = 0; n < count; n += kStep) {
      if (args.prefetch && n % kLineElements<T> == 0) {
        prefetch_points(item.grad_output, first + n, N, item.channels);
      }
      const T* from = item.grad_output + first + n;
      int64_t stride = N;
      if (n + kStep > count || item.channels < kStrip) {
        copy_edge(from, N, std::min(kStep, count - n), item.channels, tile.edge);
        from = tile.edge;
        stride = kStep;
      }
      add_square(from, stride, features + n * 3, weights + n * 3, tile.sums);
    }
  }
}

template <class T>
void direct(const DirectArgs& args, int64_t begin, int64_t end, Task& task) {
  const DirectTile<T> tile(task.nram, args.tiling.features);
  if constexpr (std::is_same_v<T, float>) {
    if (args.C == 1 && args.tiling.features >= args.M) {
      sum_in_output(args, begin, end, tile);
      return;
    }
  }
  // add_square() also reads rows past the channels of an item.
  std::memset(tile.edge, 0, kStrip * kCacheLine);
  const int64_t sum_rows = args.tiling.features + kStrip;
  std::memset(tile.sums, 0, static_cast<size_t>(sum_rows * (args.C == 1 ? 1 : kStrip)) * sizeof(float));
  const StreamWriter stream;
  for (int64_t number = begin; number < end; ++number) {
    const WorkItem<T> item(args, args.tiling, number);
    if (item.channels == 1) {
      sum_in_tile(item, args, tile);
    } else {
      add_points(item, args, tile);
      write_strip<true>(tile.sums, kStrip, item.features, item.channels, item.grad_features, args.M,
                        args.stream ? &stream : nullptr, tile.rows);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(direct, DirectArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(direct_kernel, direct, DirectArgs);

}  // namespace mluop::three_interpolate_backward::native
#endif

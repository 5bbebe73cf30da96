#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gather_points_backward/gather_points_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/gather_points_backward/gather_points_backward_native_kernels.h"
#include "primitives/simd/channel_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::gather_points_backward::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::add_square;
using mluop::HWY_NAMESPACE::copy_edge;
using mluop::HWY_NAMESPACE::kSquarePoints;
using mluop::HWY_NAMESPACE::localize_indices;
using mluop::HWY_NAMESPACE::prefetch_points;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::write_strip;

// The operands of a work item. T, here and below: an element type.
template <class T>
struct WorkItem {
  WorkItem(const SumArgs& args, int64_t number) {
    const int64_t strips = strip_count(args), tiles = args.tile_count();
    const int64_t b = number / strips / tiles;
    const int64_t first_channel = number % strips * kStripChannels;
    first_feature = number / strips % tiles * args.tile_features;
    features = std::min(args.tile_features, args.N - first_feature);
    channels = std::min(kStripChannels, args.C - first_channel);
    grad_output = static_cast<const T*>(args.grad_output) + (b * args.C + first_channel) * args.M;
    indices = args.indices + b * args.M;
    grad_features = static_cast<T*>(args.grad_features) + (b * args.C + first_channel) * args.N + first_feature;
  }

  // Whether some int32_t can be the index of one of the features.
  bool indexable() const { return first_feature <= std::numeric_limits<int32_t>::max(); }

  int64_t first_feature, features, channels;
  const T* grad_output;    // [channels, M]
  const int32_t* indices;  // [M]
  T* grad_features;        // [channels, features], rows N apart
};

// The rows of `count` points, from `first` on, in the sums. Padding to whole squares refers to a row that is not
// written. Returns the indices themselves if all features are in the tile and there is no padding.
template <class T>
HWY_INLINE const int32_t* local_features(const WorkItem<T>& item, const SumArgs& args, int64_t first,
                                         int64_t count, const SumTile<T>& tile) {
  const int32_t* indices = item.indices + first;
  const int64_t padded = round_up(count, kSquarePoints<T>);
  if (item.features == args.N && padded == count) return indices;
  localize_indices(indices, count, item.first_feature, tile.features, tile.local_features);
  std::fill(tile.local_features + count, tile.local_features + padded, static_cast<int32_t>(tile.features));
  return tile.local_features;
}

template <class T>
HWY_INLINE void add_points(const WorkItem<T>& item, const SumArgs& args, const SumTile<T>& tile) {
  constexpr int64_t kStep = kSquarePoints<T>;
  constexpr int64_t kRunPoints = SumTile<T>::kRunPoints;
  if (!item.indexable()) return;
  for (int64_t first = 0; first < args.M; first += kRunPoints) {
    const int64_t count = std::min(kRunPoints, args.M - first);
    const int32_t* features = local_features(item, args, first, count, tile);
    for (int64_t i = 0; i < count; i += kStep) {
      if (args.prefetch && i % kLineElements<T> == 0) {
        prefetch_points(item.grad_output, first + i, args.M, item.channels);
      }
      const T* from = item.grad_output + first + i;
      int64_t stride = args.M;
      if (i + kStep > count || item.channels < kStripChannels) {
        copy_edge(from, args.M, std::min(kStep, count - i), item.channels, tile.edge);
        from = tile.edge;
        stride = kStep;
      }
      add_square(from, stride, features + i, tile.sums);
    }
  }
}

template <class T>
void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const SumTile<T> tile(task.nram, args.tile_features);
  // add_square() also reads the elements past an edge.
  std::fill_n(tile.edge, kStripChannels * kLineElements<T>, T{});
  std::fill_n(tile.sums, (args.tile_features + kStripChannels) * kStripChannels, 0.0F);
  const StreamWriter stream;
  for (int64_t number = begin; number < end; ++number) {
    const WorkItem<T> item(args, number);
    add_points(item, args, tile);
    write_strip<true>(tile.sums, kStripChannels, item.features, item.channels, item.grad_features, args.N,
                      args.stream ? &stream : nullptr, tile.rows);
  }
}

MLUOP_SELECT_BY_DTYPE(sum, SumArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::gather_points_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::gather_points_backward::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_kernel, sum, SumArgs);

}  // namespace mluop::gather_points_backward::native
#endif

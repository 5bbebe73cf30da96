#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/stack_group_points/stack_group_points_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/stack_group_points/stack_group_points_native_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/channel_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::stack_group_points::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_square;
using mluop::HWY_NAMESPACE::kSquarePoints;
using mluop::HWY_NAMESPACE::kStripLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::localize_indices;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StripTag;

// Distance, in groups, at which groups are prefetched.
constexpr int64_t kLookahead = 2;

// A work item. Features are counted from the first feature of the cloud.
struct WorkItem {
  WorkItem(const SumArgs& args, int64_t number) {
    const int64_t strips = strip_count(args), tile_number = number / strips;
    const int64_t cloud = args.tile_starts.cloud_of(tile_number);
    const Range cloud_features = args.feature_starts.rows_of(cloud);
    groups = args.group_starts.rows_of(cloud);
    first_feature = (tile_number - args.tile_starts.starts[cloud]) * args.tile_features;
    features = std::min(args.tile_features, cloud_features.size() - first_feature);
    first_row = cloud_features.begin + first_feature;
    first_channel = number % strips * kStripChannels;
    channels = std::min(kStripChannels, args.C - first_channel);
  }

  Range groups;
  int64_t first_feature, features, first_row;
  int64_t first_channel, channels;
};

// Adds `count` samples of a square with fewer points or channels. T, here and below: an element type.
template <class T>
HWY_INLINE void add_edge(const WorkItem& item, const T* from, int64_t S, int64_t count, const int32_t* features,
                         const SumTile<T>& tile) {
  const StripTag d;
  for (int64_t first = 0; first < count; first += kStripLanes) {
    const int64_t points = std::min(kStripLanes, count - first);
    for (int64_t c = 0; c < item.channels; ++c) {
      const T* const row = from + c * S + first;
      float* const to = tile.edge + c * kStripLanes;
      if (points == kStripLanes) {
        hn::Store(load_f32(d, row), d, to);
      } else {
        for (int64_t i = 0; i < points; ++i) to[i] = to_f32(row[i]);
      }
    }
    add_square(tile.edge, kStripLanes, features + first, tile.sums);
  }
}

// Adds the samples of a group; `from`: rows of S elements.
template <class T>
HWY_INLINE void add_group(const WorkItem& item, const T* from, const int32_t* indices, int64_t S,
                          const SumTile<T>& tile) {
  constexpr int64_t kStep = kSquarePoints<T>;
  for (int64_t first = 0; first < S; first += SumTile<T>::kRunSamples) {
    const int64_t count = std::min(SumTile<T>::kRunSamples, S - first);
    localize_indices(indices + first, count, item.first_feature, item.features, tile.local_features);
    // Padding up to whole squares refers to a row that is not written.
    std::fill(tile.local_features + count, tile.local_features + round_up(count, kStep),
              static_cast<int32_t>(item.features));
    for (int64_t s = 0; s < count; s += kStep) {
      const T* const square = from + first + s;
      const int32_t* const features = tile.local_features + s;
      if (s + kStep > count || item.channels < kStripChannels) {
        add_edge(item, square, S, std::min(kStep, count - s), features, tile);
      } else {
        add_square(square, S, features, tile.sums);
      }
    }
  }
}

// Writes the sums to rows C apart.
template <class T>
HWY_INLINE void write_sums(const WorkItem& item, const SumTile<T>& tile, T* to, int64_t C) {
  const StripTag d;
  for (int64_t n = 0; n < item.features; ++n) {
    T* const row = item.channels == kStripChannels ? to + n * C : tile.rounded;
    for (int64_t c = 0; c < kStripChannels; c += kStripLanes) {
      store_f32(hn::Load(d, tile.sums + n * kStripChannels + c), d, row + c);
    }
    if (item.channels < kStripChannels) std::copy_n(tile.rounded, item.channels, to + n * C);
  }
}

template <class T>
void sum(const SumArgs& args, int64_t begin, int64_t end, Task& task) {
  const SumTile<T> tile(task.nram, args.tile_features);
  // add_square() also reads the elements past an edge.
  std::fill_n(tile.edge, kStripChannels * kStripLanes, 0.0F);
  const int64_t S = args.groups.samples;
  for (int64_t number = begin; number < end; ++number) {
    const WorkItem item(args, number);
    std::fill_n(tile.sums, (item.features + kStripChannels) * kStripChannels, 0.0F);
    for (int64_t m = item.groups.begin; m < item.groups.end; ++m) {
      const T* const from = static_cast<const T*>(args.grad_output) + (m * args.C + item.first_channel) * S;
      if (m + kLookahead < item.groups.end) {
        prefetch_row<Use::kReadOnce>(from + kLookahead * args.C * S, item.channels * S * int64_t{sizeof(T)});
      }
      add_group(item, from, args.groups.indices + m * S, S, tile);
    }
    write_sums(item, tile, static_cast<T*>(args.grad_features) + item.first_row * args.C + item.first_channel,
               args.C);
  }
}

MLUOP_SELECT_BY_DTYPE(sum, SumArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::stack_group_points::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::stack_group_points::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(sum_kernel, sum, SumArgs);

}  // namespace mluop::stack_group_points::native
#endif

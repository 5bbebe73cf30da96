#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/voxel_pooling_forward_device_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "ops/voxel_pooling_forward/voxel_pooling_forward_device_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/row_guard.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using voxel_pooling_forward::HWY_NAMESPACE::locate_points;

// Distance, in points, between prefetching a row and using it.
constexpr int64_t kLookahead = 12;

// Prefetches the feature row of a point and the sums of its cell.
template <class T>
HWY_INLINE void prefetch(const PoolArgs& args, int64_t point, int32_t cell) {
  if (cell == kNoCell) return;
  const int64_t channels = args.num_channels;
  const T* features = static_cast<const T*>(args.input_features) + point * channels;
  prefetch_row<Use::kReadOnce>(features, channels * int64_t{sizeof(T)});
  prefetch_row<Use::kWrite>(args.sums + int64_t{cell} * channels, channels * int64_t{sizeof(float)});
}

// sum[0, channels) += row[0, channels). T, here and below: an element type.
template <class T>
HWY_INLINE void add_row(float* HWY_RESTRICT sum, const T* HWY_RESTRICT row, int64_t channels) {
  mluop::HWY_NAMESPACE::for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + c), mluop::HWY_NAMESPACE::load_f32(d, row + c)), d, sum + c);
  });
}

template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t channels = args.num_channels;
  const int64_t tile_channels = Tile::tile_channels(args.tile_points, sizeof(T));
  const Tile tile(task.nram, args.tile_points);
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t count = std::min(args.tile_points, end - first);
    const int64_t bytes = count * 3 * int64_t{sizeof(int32_t)};
    ++task.statistics->tiles;
    load(task, tile.geom_xyz, args.geom_xyz + first * 3, bytes);
    locate_points(args, first, count, tile.geom_xyz, tile.cells, tile.pos_memo);
    store(task, args.pos_memo + first * 3, tile.pos_memo, bytes);
    for (int64_t i = 0; i < std::min(kLookahead, count); ++i) prefetch<T>(args, first + i, tile.cells[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (i + kLookahead < count) prefetch<T>(args, first + i + kLookahead, tile.cells[i + kLookahead]);
      if (tile.cells[i] == kNoCell) continue;
      const T* features = static_cast<const T*>(args.input_features) + (first + i) * channels;
      float* sum = args.sums + int64_t{tile.cells[i]} * channels;
      for (int64_t c = 0; c < channels; c += tile_channels) {
        const int64_t width = std::min(tile_channels, channels - c);
        load(task, tile.features, features + c, width * int64_t{sizeof(T)});
        const RowGuard guard(task, sum + c, width);
        add_row(sum + c, static_cast<const T*>(tile.features), width);
      }
    }
  }
}

MLUOP_SELECT_BY_DTYPE(pool, PoolArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::device {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, PoolArgs);

}  // namespace mluop::voxel_pooling_forward::device
#endif

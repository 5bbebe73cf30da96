#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/device/pool_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/device/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "primitives/prefetch.h"
#include "team/row_guard.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::device {
namespace HWY_NAMESPACE {
using voxel_pooling_forward::HWY_NAMESPACE::locate_points;

// Points from a prefetch to the use of the row.
constexpr int64_t kLookahead = 12;

// Adds feature rows of T, float or Half, to the sums of cells.
template <class T>
struct AddRows {
  explicit AddRows(const PoolArgs& args)
      : input_features(static_cast<const T*>(args.call.input_features)),
        sums(args.sums),
        channels(args.call.num_channels),
        chunk_channels(Tile::chunk_channels(args.tile_points, sizeof(T))) {}

  // By chunks of channels.
  HWY_INLINE void add(int64_t point, int32_t cell, const Tile& tile, Task& task) const {
    const T* features = input_features + point * channels;
    float* sum = sums + int64_t{cell} * channels;
    for (int64_t c = 0; c < channels; c += chunk_channels) {
      const int64_t count = std::min(chunk_channels, channels - c);
      load(task, tile.features, features + c, count * int64_t{sizeof(T)});
      const RowGuard guard(task, sum + c, count);
      voxel_pooling_forward::HWY_NAMESPACE::add_row<false>(sum + c, static_cast<const T*>(tile.features), count);
    }
  }

  HWY_INLINE void prefetch(int64_t point, int32_t cell) const {
    if (cell == kNoCell) return;
    prefetch_row<Use::kReadOnce>(input_features + point * channels, channels * int64_t{sizeof(T)});
    prefetch_row<Use::kWrite>(sums + int64_t{cell} * channels, channels * int64_t{sizeof(float)});
  }

  const T* input_features;  // [B, N, C]
  float* sums;              // [B, Y, X, C]
  int64_t channels;
  int64_t chunk_channels;
};

template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const Tile tile(task.nram, args.tile_points);
  const AddRows<T> rows(args);
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t count = std::min(args.tile_points, end - first);
    const int64_t bytes = count * 3 * int64_t{sizeof(int32_t)};
    ++task.statistics->tiles;
    load(task, tile.geom_xyz, call.geom_xyz + first * 3, bytes);
    locate_points(call, first, count, tile.geom_xyz, tile.cells, tile.pos_memo);
    store(task, call.pos_memo + first * 3, tile.pos_memo, bytes);
    for (int64_t i = 0; i < std::min(kLookahead, count); ++i) rows.prefetch(first + i, tile.cells[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (i + kLookahead < count) rows.prefetch(first + i + kLookahead, tile.cells[i + kLookahead]);
      if (tile.cells[i] != kNoCell) rows.add(first + i, tile.cells[i], tile, task);
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

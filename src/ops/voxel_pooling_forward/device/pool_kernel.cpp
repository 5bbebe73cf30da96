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

// Adds the feature row of a point to the output row of its cell, by chunks of channels.
HWY_INLINE void add_point(const Args& call, int64_t point, int32_t cell, int64_t chunk_channels, const Tile& tile,
                          Task& task) {
  const float* features = call.input_features + point * call.num_channels;
  float* output = call.output_features + int64_t{cell} * call.num_channels;
  for (int64_t c = 0; c < call.num_channels; c += chunk_channels) {
    const int64_t channels = std::min(chunk_channels, call.num_channels - c);
    load(task, tile.features, features + c, channels * int64_t{sizeof(float)});
    const RowGuard guard(task, output + c, channels);
    voxel_pooling_forward::HWY_NAMESPACE::add_row<false>(output + c, tile.features, channels);
  }
}

HWY_INLINE void prefetch_point(const Args& call, int64_t point, int32_t cell) {
  if (cell == kNoCell) return;
  prefetch_row<Use::kReadOnce>(call.input_features + point * call.num_channels, call.row_bytes());
  prefetch_row<Use::kWrite>(call.output_features + int64_t{cell} * call.num_channels, call.row_bytes());
}

void pool(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const Tile tile(task.nram, args.tile_points);
  const int64_t chunk_channels = Tile::chunk_channels(args.tile_points);
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t count = std::min(args.tile_points, end - first);
    const int64_t bytes = count * 3 * int64_t{sizeof(int32_t)};
    ++task.statistics->tiles;
    load(task, tile.geom_xyz, call.geom_xyz + first * 3, bytes);
    locate_points(call, first, count, tile.geom_xyz, tile.cells, tile.pos_memo);
    store(task, call.pos_memo + first * 3, tile.pos_memo, bytes);
    for (int64_t i = 0; i < std::min(kLookahead, count); ++i) prefetch_point(call, first + i, tile.cells[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (i + kLookahead < count) prefetch_point(call, first + i + kLookahead, tile.cells[i + kLookahead]);
      if (tile.cells[i] != kNoCell) add_point(call, first + i, tile.cells[i], chunk_channels, tile, task);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::device {

HWY_EXPORT(pool);

RangeKernel<PoolArgs> pool_kernel() { return MLUOP_DISPATCH(pool); }

}  // namespace mluop::voxel_pooling_forward::device
#endif

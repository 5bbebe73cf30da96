#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/atomic_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/add_row-inl.h"
#include "ops/voxel_pooling_forward/atomic_tile.h"
#include "ops/voxel_pooling_forward/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "primitives/stream-inl.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

constexpr int32_t kNone = -1;

// Links the points of a tile that share a bucket, in ascending order.
HWY_INLINE void link_points(const AtomicTile& tile, int32_t count) {
  std::fill_n(tile.heads, tile.bucket_count, kNone);
  for (int32_t i = count - 1; i >= 0; --i) {
    if (tile.cells[i] == KeyedPoints::kNoKey) continue;
    int32_t& head = tile.heads[tile.bucket(tile.cells[i])];
    tile.next[i] = head;
    head = i;
  }
}

// Adds channels [channel, channel + count) of the tile's points to the output, one atomic row for each cell.
void scatter_tile(const Args& call, const AtomicTile& tile, int64_t first_point, int32_t points, int64_t channel,
                  int64_t count) {
  const int64_t channels = call.num_channels;
  const float* features = call.input_features + first_point * channels + channel;
  link_points(tile, points);
  for (int32_t i = 0; i < points; ++i) {
    const int32_t cell = tile.cells[i];
    if (cell == KeyedPoints::kNoKey) continue;
    // Already added, together with an earlier point of its cell.
    if (tile.next[i] == i) continue;
    std::memcpy(tile.row, features + i * channels, static_cast<size_t>(count) * sizeof(float));
    int32_t* link = &tile.next[i];
    while (*link != kNone) {
      const int32_t j = *link;
      if (tile.cells[j] == cell) {
        add_row<false>(tile.row, features + j * channels, count);
        *link = tile.next[j];
        tile.next[j] = j;
      } else {
        link = &tile.next[j];
      }
    }
    float* out = call.output_features + cell * channels + channel;
    for (int64_t c = 0; c < count; ++c) atomic_add(out + c, tile.row[c]);
  }
}

void scatter(const AtomicArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const AtomicTile tile(task.nram, args.tile_points, args.tile_channels);
  const mluop::HWY_NAMESPACE::StreamWriter stream;
  for (int64_t point = begin; point < end; point += args.tile_points) {
    const auto points = static_cast<int32_t>(std::min<int64_t>(args.tile_points, end - point));
    locate_points(call, point, points, tile.cells, tile.memo);
    stream.copy(call.pos_memo + point * 3, tile.memo, static_cast<size_t>(points) * 3);
    for (int64_t channel = 0; channel < call.num_channels; channel += args.tile_channels) {
      const int64_t count = std::min<int64_t>(args.tile_channels, call.num_channels - channel);
      scatter_tile(call, tile, point, points, channel, count);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward {

HWY_EXPORT(scatter);

RangeKernel<AtomicArgs> atomic_kernel() { return MLUOP_DISPATCH(scatter); }

}  // namespace mluop::voxel_pooling_forward
#endif

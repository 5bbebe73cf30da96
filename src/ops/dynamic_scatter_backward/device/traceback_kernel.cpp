#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/device/traceback_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/device/kernels.h"
#include "primitives/prefetch.h"
#include "team/row_guard.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<int32_t>;

// Prefetches rows this many points before their use.
constexpr int64_t kPrefetchPoints = 8;

HWY_INLINE void fill_with(int32_t value, int32_t* HWY_RESTRICT to, int64_t count) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Set(d, value), d, to + i);
  for (; i < count; ++i) to[i] = value;
}

void fill(const FillArgs& args, int64_t begin, int64_t end, Task& task) {
  task.statistics->bytes_stored += (end - begin) * kElementBytes;
  fill_with(args.value, args.reduce_from + begin, end - begin);
}

// row = min(row, point where the features equal the values)
HWY_INLINE void min_row(const float* HWY_RESTRICT feats, const float* HWY_RESTRICT values, int32_t point,
                        int64_t channels, int32_t* HWY_RESTRICT row) {
  const D d;
  const hn::RebindToFloat<D> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    const auto equal = hn::RebindMask(d, hn::Eq(hn::LoadU(df, feats + c), hn::LoadU(df, values + c)));
    const auto smallest = hn::LoadU(d, row + c);
    hn::StoreU(hn::IfThenElse(equal, hn::Min(smallest, hn::Set(d, point)), smallest), d, row + c);
  }
  for (; c < channels; ++c) {
    if (feats[c] == values[c]) row[c] = std::min(row[c], point);
  }
}

// Channels of consecutive points.
struct Part {
  int64_t first_point, points;
  int64_t first_channel, channels;
};

// Loads the rows of the points and of their voxels, and makes one atomic minimum for each point that has a voxel.
HWY_INLINE void process_part(const TracebackArgs& args, const Part& part, const TracebackTile& tile, Task& task) {
  const int64_t C = args.call.channels;
  const int64_t row_bytes = part.channels * kElementBytes;
  const float* feats = args.call.feats + part.first_point * C + part.first_channel;
  const float* voxel_feats = args.call.voxel_feats + part.first_channel;
  int32_t* reduce_from = args.reduce_from + part.first_channel;
  for (int64_t i = 0; i < part.points; ++i) {
    const int64_t next = std::min(i + kPrefetchPoints, part.points - 1);
    prefetch_row<Use::kReadOnce>(feats + next * C, row_bytes);
    if (const int32_t voxel = tile.offsets[next]; voxel != kNoVoxel) {
      prefetch_row<Use::kRead>(voxel_feats + voxel * C, row_bytes);
      prefetch_row<Use::kWrite>(reduce_from + voxel * C, row_bytes);
    }
    float* const point_row = tile.feats + i * args.tile_channels;
    load(task, point_row, feats + i * C, row_bytes);
    const int32_t voxel = tile.offsets[i];
    if (voxel == kNoVoxel) continue;
    float* const voxel_row = tile.reduce_feats + i * args.tile_channels;
    load(task, voxel_row, voxel_feats + voxel * C, row_bytes);
    int32_t* const row = reduce_from + voxel * C;
    const RowGuard guard(task, row, part.channels);
    min_row(point_row, voxel_row, static_cast<int32_t>(part.first_point + i), part.channels, row);
  }
}

void traceback(const TracebackArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const TracebackTile tile(task.nram, args.tile_points, args.tile_channels);
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t points = std::min(args.tile_points, end - first);
    load(task, tile.offsets, call.point2voxel_map + first, points * kElementBytes);
    for (int64_t channel = 0; channel < call.channels; channel += args.tile_channels) {
      const Part part{first, points, channel, std::min(args.tile_channels, call.channels - channel)};
      ++task.statistics->tiles;
      process_part(args, part, tile, task);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::device {

MLUOP_EXPORT_KERNEL(fill_kernel, fill, FillArgs);

MLUOP_EXPORT_KERNEL(traceback_kernel, traceback, TracebackArgs);

}  // namespace mluop::dynamic_scatter_backward::device
#endif

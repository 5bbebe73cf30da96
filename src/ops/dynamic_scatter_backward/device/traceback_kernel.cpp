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
constexpr int64_t kElementBytes = 4;

// Prefetches rows of voxels this many points before their use.
constexpr int64_t kPrefetchPoints = 8;

HWY_INLINE void fill_with(int32_t value, int32_t* HWY_RESTRICT to, int64_t count) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Set(d, value), d, to + i);
  for (; i < count; ++i) to[i] = value;
}

void fill(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  fill_with(args.value, args.reduce_from + begin, end - begin);
}

// candidates = first + index where the features equal the values, else none.
HWY_INLINE void select_candidates(const TracebackTile& tile, int64_t count, int32_t first, int32_t none) {
  const D d;
  const hn::RebindToFloat<D> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto equal =
        hn::RebindMask(d, hn::Eq(hn::LoadU(df, tile.feats + i), hn::LoadU(df, tile.reduce_feats + i)));
    const auto points = hn::Add(hn::LoadU(d, tile.index_mask + i), hn::Set(d, first));
    hn::StoreU(hn::IfThenElse(equal, points, hn::Set(d, none)), d, tile.value_mask + i);
  }
  for (; i < count; ++i) {
    tile.value_mask[i] = tile.feats[i] == tile.reduce_feats[i] ? first + tile.index_mask[i] : none;
  }
}

// row = min(row, candidates)
HWY_INLINE void min_row(const int32_t* HWY_RESTRICT candidates, int64_t channels, int32_t* HWY_RESTRICT row) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    hn::StoreU(hn::Min(hn::LoadU(d, row + c), hn::LoadU(d, candidates + c)), d, row + c);
  }
  for (; c < channels; ++c) row[c] = std::min(row[c], candidates[c]);
}

// Channels of consecutive points.
struct Part {
  int64_t first_point, points;
  int64_t first_channel, channels;
};

HWY_INLINE void load_part(const TracebackArgs& args, const Part& part, const TracebackTile& tile, Task& task) {
  const int64_t row_bytes = part.channels * kElementBytes;
  const int64_t stride = args.tile_channels;
  const int64_t C = args.call.channels;
  const float* feats = args.call.feats + part.first_point * C + part.first_channel;
  if (part.channels == C) {
    load(task, tile.feats, feats, part.points * row_bytes);
  } else {
    load_rows(task, tile.feats, stride * kElementBytes, feats, C * kElementBytes, row_bytes, part.points);
  }
  const float* voxel_feats = args.call.voxel_feats + part.first_channel;
  for (int64_t i = 0; i < part.points; ++i) {
    const int32_t next = tile.offsets[std::min(i + kPrefetchPoints, part.points - 1)];
    if (next != kNoVoxel) prefetch_row<Use::kRead>(voxel_feats + next * C, row_bytes);
    const int32_t voxel = tile.offsets[i];
    if (voxel != kNoVoxel) load(task, tile.reduce_feats + i * stride, voxel_feats + voxel * C, row_bytes);
  }
}

// One atomic minimum for each point that has a voxel.
HWY_INLINE void update_part(const TracebackArgs& args, const Part& part, const TracebackTile& tile, Task& task) {
  const int64_t C = args.call.channels;
  int32_t* reduce_from = args.reduce_from + part.first_channel;
  for (int64_t i = 0; i < part.points; ++i) {
    const int32_t next = tile.offsets[std::min(i + kPrefetchPoints, part.points - 1)];
    if (next != kNoVoxel) prefetch_row<Use::kWrite>(reduce_from + next * C, part.channels * kElementBytes);
    const int32_t voxel = tile.offsets[i];
    if (voxel == kNoVoxel) continue;
    int32_t* const row = reduce_from + voxel * C;
    const RowGuard guard(task, row, part.channels);
    min_row(tile.value_mask + i * args.tile_channels, part.channels, row);
  }
}

void traceback(const TracebackArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const TracebackTile tile(task.nram, args.tile_points, args.tile_channels);
  const int64_t index_points = std::min(args.tile_points, end - begin);
  for (int64_t i = 0; i < index_points; ++i) {
    fill_with(static_cast<int32_t>(i), tile.index_mask + i * args.tile_channels, args.tile_channels);
  }
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t points = std::min(args.tile_points, end - first);
    load(task, tile.offsets, call.point2voxel_map + first, points * kElementBytes);
    for (int64_t channel = 0; channel < call.channels; channel += args.tile_channels) {
      const Part part{first, points, channel, std::min(args.tile_channels, call.channels - channel)};
      ++task.statistics->tiles;
      load_part(args, part, tile, task);
      select_candidates(tile, points * args.tile_channels, static_cast<int32_t>(first), call.point_count);
      update_part(args, part, tile, task);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::device {

HWY_EXPORT(fill);
HWY_EXPORT(traceback);

RangeKernel<FillArgs> fill_kernel() { return MLUOP_DISPATCH(fill); }

RangeKernel<TracebackArgs> traceback_kernel() { return MLUOP_DISPATCH(traceback); }

}  // namespace mluop::dynamic_scatter_backward::device
#endif

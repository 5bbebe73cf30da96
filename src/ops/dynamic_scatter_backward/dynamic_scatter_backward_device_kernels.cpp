#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/dynamic_scatter_backward_device_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/count_valid-inl.h"
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_device_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/for_each_distinct-inl.h"
#include "team/row_guard.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using dynamic_scatter_backward::HWY_NAMESPACE::count_valid;
using mluop::HWY_NAMESPACE::for_each_distinct;

using D = hn::ScalableTag<float>;
using Di = hn::RebindToSigned<D>;

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t tile_points = std::min(args.tile_points, end - begin);
  auto* map = task.nram.take<int32_t>("map", {tile_points});
  for (int64_t first = begin; first < end; first += tile_points) {
    const int64_t count = std::min(tile_points, end - first);
    ++task.statistics->tiles;
    load(task, map, args.point2voxel_map + first, count * int64_t{sizeof(int32_t)});
    const int64_t valid = count_valid(map, count, args.voxel_count);
    if (valid < count) {
      args.bad_point.report(first + valid);
      return;
    }
  }
}

void fill(const FillArgs& args, int64_t begin, int64_t end, Task& task) {
  task.statistics->bytes_stored += (end - begin) * kElementBytes;
  const Di d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int32_t value = args.value;
  int32_t* HWY_RESTRICT const to = args.reduce_from;
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) hn::StoreU(hn::Set(d, value), d, to + i);
  for (; i < end; ++i) to[i] = value;
}

// row = min(row, point where the features equal the values)
HWY_INLINE void min_row(const float* HWY_RESTRICT feats, const float* HWY_RESTRICT values, int32_t point,
                        int64_t channels, int32_t* HWY_RESTRICT row) {
  const Di d;
  const D df;
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

// The range of a tile of traceback(): channels of consecutive points.
struct TileRange {
  int64_t first_point, points;
  int64_t first_channel, channels;
};

// Prefetches rows this many points before their use.
constexpr int64_t kPrefetchPoints = 8;

// Loads the rows of the points and of their voxels, and performs one atomic minimum for each point with a voxel.
HWY_INLINE void reduce_tile(const TracebackArgs& args, const TileRange& range, const TracebackTile& tile,
                            Task& task) {
  const int64_t C = args.channels;
  const int64_t row_bytes = range.channels * kElementBytes;
  const float* feats = args.feats + range.first_point * C + range.first_channel;
  const float* voxel_feats = args.voxel_feats + range.first_channel;
  int32_t* reduce_from = args.reduce_from + range.first_channel;
  for (int64_t i = 0; i < range.points; ++i) {
    const int64_t next = std::min(i + kPrefetchPoints, range.points - 1);
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
    const RowGuard guard(task, row, range.channels);
    min_row(point_row, voxel_row, static_cast<int32_t>(range.first_point + i), range.channels, row);
  }
}

void traceback(const TracebackArgs& args, int64_t begin, int64_t end, Task& task) {
  const TracebackTile tile(task.nram, args.tile_points, args.tile_channels);
  for (int64_t first = begin; first < end; first += args.tile_points) {
    const int64_t points = std::min(args.tile_points, end - first);
    load(task, tile.offsets, args.point2voxel_map + first, points * kElementBytes);
    for (int64_t channel = 0; channel < args.channels; channel += args.tile_channels) {
      const TileRange range{first, points, channel, std::min(args.tile_channels, args.channels - channel)};
      ++task.statistics->tiles;
      reduce_tile(args, range, tile, task);
    }
  }
}

// Writes a vector of a voxel's gradient to the rows of its points, one point at a time: most vectors have one
// point. `to` is the column of the channel. Returns the number of elements written.
HWY_INLINE int64_t scatter_vector(const Args& args, const int32_t* points_of, const float* grads, float* to) {
  const D df;
  const Di di;
  const auto points = hn::LoadU(di, points_of);
  const auto gradients = hn::LoadU(df, grads);
  const auto among = hn::Lt(points, hn::Set(di, args.point_count));
  for_each_distinct(di, points_of, among, [&](int32_t point, auto of_point) HWY_ATTR {
    hn::BlendedStore(gradients, hn::RebindMask(df, of_point), df, to + point * args.channels);
  });
  return static_cast<int64_t>(hn::CountTrue(di, among));
}

// The rows of one voxel in NRAM. Returns the number of elements written.
HWY_INLINE int64_t scatter_row(const Args& args, const int32_t* points_of, const float* grads, int64_t channels,
                               float* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t written = 0;
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) written += scatter_vector(args, points_of + c, grads + c, to + c);
  for (; c < channels; ++c) {
    if (points_of[c] == args.point_count) continue;
    to[points_of[c] * args.channels + c] = grads[c];
    ++written;
  }
  return written;
}

// Prefetches rows of points this many voxels before their use.
constexpr int64_t kPrefetchVoxels = 8;

// Prefetches the row of the point of a voxel's first channel; in many voxels all channels have the same point.
HWY_INLINE void prefetch_point(const Args& args, int64_t point, const float* to, int64_t channels) {
  if (point < args.point_count) prefetch_row<Use::kWrite>(to + point * args.channels, channels * kElementBytes);
}

void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t C = args.channels;
  const ScatterTile tile(task.nram, args.tile_voxels, args.tile_channels);
  for (int64_t first = begin; first < end; first += args.tile_voxels) {
    const int64_t voxels = std::min(args.tile_voxels, end - first);
    for (int64_t channel = 0; channel < C; channel += args.tile_channels) {
      const int64_t channels = std::min(args.tile_channels, C - channel);
      // Rows with all channels are contiguous: one row.
      const int64_t rows = channels == C ? 1 : voxels;
      const int64_t row_bytes = (channels == C ? voxels * C : channels) * kElementBytes;
      const int64_t from = first * C + channel;
      ++task.statistics->tiles;
      load_rows(task, tile.reduce_from, row_bytes, args.reduce_from + from, C * kElementBytes, row_bytes, rows);
      load_rows(task, tile.grads, row_bytes, args.grad_voxel_feats + from, C * kElementBytes, row_bytes, rows);
      float* const to = args.grad_feats + channel;
      int64_t written = 0;
      for (int64_t i = 0; i < voxels; ++i) {
        const int64_t next = std::min(i + kPrefetchVoxels, voxels - 1);
        prefetch_point(args, tile.reduce_from[next * channels], to, channels);
        written += scatter_row(args, tile.reduce_from + i * channels, tile.grads + i * channels, channels, to);
      }
      task.statistics->bytes_stored += written * kElementBytes;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::device {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);
MLUOP_EXPORT_KERNEL(fill_kernel, fill, FillArgs);
MLUOP_EXPORT_KERNEL(traceback_kernel, traceback, TracebackArgs);
MLUOP_EXPORT_KERNEL(scatter_kernel, scatter, ScatterArgs);

}  // namespace mluop::dynamic_scatter_backward::device
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/device/scatter_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/device/kernels.h"
#include "primitives/prefetch.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Prefetches rows of points this many voxels before their use.
constexpr int64_t kPrefetchVoxels = 8;

// Writes a vector of a voxel's gradient to the rows of its points, one point at a time: most vectors have one.
// `to` is the channel's column. Returns the number of elements written.
HWY_INLINE int64_t scatter_vector(const Args& call, const int32_t* points_of, const float* grads, float* to) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto points = hn::LoadU(di, points_of);
  const auto gradients = hn::LoadU(df, grads);
  auto remaining = hn::Lt(points, hn::Set(di, call.point_count));
  const auto written = static_cast<int64_t>(hn::CountTrue(di, remaining));
  while (!hn::AllFalse(di, remaining)) {
    const int64_t point = points_of[hn::FindKnownFirstTrue(di, remaining)];
    const auto of_point = hn::Eq(points, hn::Set(di, static_cast<int32_t>(point)));
    hn::BlendedStore(gradients, hn::RebindMask(df, of_point), df, to + point * call.channels);
    remaining = hn::AndNot(of_point, remaining);
  }
  return written;
}

// The rows of one voxel in NRAM. Returns the number of elements written.
HWY_INLINE int64_t scatter_row(const Args& call, const int32_t* points_of, const float* grads, int64_t channels,
                               float* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t written = 0;
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) written += scatter_vector(call, points_of + c, grads + c, to + c);
  for (; c < channels; ++c) {
    if (points_of[c] == call.point_count) continue;
    to[points_of[c] * call.channels + c] = grads[c];
    ++written;
  }
  return written;
}

// Prefetches the row of a voxel's first channel, which is that of all channels in many voxels.
HWY_INLINE void prefetch_point(const Args& call, int64_t point, const float* to, int64_t channels) {
  if (point < call.point_count) prefetch_row<Use::kWrite>(to + point * call.channels, channels * kElementBytes);
}

void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const int64_t C = call.channels;
  const ScatterTile tile(task.nram, args.tile_voxels, args.tile_channels);
  for (int64_t first = begin; first < end; first += args.tile_voxels) {
    const int64_t voxels = std::min(args.tile_voxels, end - first);
    for (int64_t channel = 0; channel < C; channel += args.tile_channels) {
      const int64_t channels = std::min(args.tile_channels, C - channel);
      // Rows of all channels are one row.
      const int64_t rows = channels == C ? 1 : voxels;
      const int64_t row_bytes = (channels == C ? voxels * C : channels) * kElementBytes;
      const int64_t from = first * C + channel;
      ++task.statistics->tiles;
      load_rows(task, tile.reduce_from, row_bytes, args.reduce_from + from, C * kElementBytes, row_bytes, rows);
      load_rows(task, tile.grads, row_bytes, call.grad_voxel_feats + from, C * kElementBytes, row_bytes, rows);
      float* const to = call.grad_feats + channel;
      int64_t written = 0;
      for (int64_t i = 0; i < voxels; ++i) {
        const int64_t next = std::min(i + kPrefetchVoxels, voxels - 1);
        prefetch_point(call, tile.reduce_from[next * channels], to, channels);
        written += scatter_row(call, tile.reduce_from + i * channels, tile.grads + i * channels, channels, to);
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

MLUOP_EXPORT_KERNEL(scatter_kernel, scatter, ScatterArgs);

}  // namespace mluop::dynamic_scatter_backward::device
#endif

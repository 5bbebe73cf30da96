#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/trace_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "ops/dynamic_scatter_backward/check-inl.h"
#include "ops/dynamic_scatter_backward/kernels.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {

// Rows of the voxels of a tile are fetched this many points ahead, and this much of them.
constexpr int32_t kPrefetchPoints = 8;
constexpr int64_t kPrefetchedRow = 1 << 10;
constexpr int64_t kLine = 64;

HWY_INLINE void prefetch_voxel(const TraceArgs& args, int64_t voxel) {
  const auto row = voxel * args.call.row_bytes();
  for (int64_t i = 0; i < std::min(args.call.row_bytes(), kPrefetchedRow); i += kLine) {
    hwy::Prefetch(reinterpret_cast<const char*>(args.call.voxel_feats) + row + i);
    hwy::Prefetch(reinterpret_cast<const char*>(args.source) + row + i);
  }
}

// candidates[0, count) = `point` where feats equals voxel, else `none`.
HWY_INLINE void compare(const float* HWY_RESTRICT feats, const float* HWY_RESTRICT voxel, int32_t count,
                        int32_t point, int32_t none, int32_t* HWY_RESTRICT candidates) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int32_t>(hn::Lanes(df));
  int32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto equal = hn::Eq(hn::LoadU(df, feats + i), hn::LoadU(df, voxel + i));
    hn::StoreU(hn::IfThenElse(hn::RebindMask(di, equal), hn::Set(di, point), hn::Set(di, none)), di,
               candidates + i);
  }
  for (; i < count; ++i) candidates[i] = feats[i] == voxel[i] ? point : none;
}

// source[0, count) = min(source, candidates), element by element.
HWY_INLINE void lower(int32_t* HWY_RESTRICT source, const int32_t* HWY_RESTRICT candidates, int32_t count) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  int32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Min(hn::LoadU(d, source + i), hn::LoadU(d, candidates + i)), d, source + i);
  }
  for (; i < count; ++i) source[i] = std::min(source[i], candidates[i]);
}

void trace_point(const TraceArgs& args, int32_t* candidates, int32_t point, int64_t voxel) {
  const Args& call = args.call;
  for (int64_t channel = 0; channel < call.channels; channel += args.tile_channels) {
    const auto channels = static_cast<int32_t>(std::min<int64_t>(args.tile_channels, call.channels - channel));
    compare(call.feats + point * call.channels + channel, call.voxel_feats + voxel * call.channels + channel,
            channels, point, call.point_count, candidates);
    const SpinGuard guard(args.occupied + voxel);
    lower(args.source + voxel * call.channels + channel, candidates, channels);
  }
}

void trace(const TraceArgs& args, int64_t begin, int64_t end, Task& task) {
  if (!check_points(args.call, begin, end - begin, args.first_bad)) return;
  constexpr int32_t none = KeyedItems::kNoKey;
  auto* candidates = task.nram.take<int32_t>(static_cast<size_t>(args.tile_channels));
  const int32_t* voxels = args.call.point2voxel_map;
  for (int64_t point = begin; point < end; ++point) {
    const int64_t next = std::min(point + kPrefetchPoints, end - 1);
    if (voxels[next] != none) prefetch_voxel(args, voxels[next]);
    if (voxels[point] != none) trace_point(args, candidates, static_cast<int32_t>(point), voxels[point]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(trace);

RangeKernel<TraceArgs> trace_kernel() { return HWY_DYNAMIC_DISPATCH(trace); }

}  // namespace mluop::dynamic_scatter_backward
#endif

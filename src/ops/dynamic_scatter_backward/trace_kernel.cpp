#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/trace_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/check-inl.h"
#include "ops/dynamic_scatter_backward/kernels.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {

// Prefetches rows of voxels this many points before their use.
constexpr int64_t kPrefetchPoints = 8;

HWY_INLINE void prefetch_voxel(const TraceArgs& args, int64_t voxel) {
  const Args& call = args.call;
  prefetch_row<Use::kRead>(call.voxel_feats + voxel * call.channels, call.row_bytes());
  prefetch_row<Use::kWrite>(args.source + voxel * call.channels, call.row_bytes());
}

// source[0, channels) = min(source, point) where feats equals voxel. With kFirst, as if source were `none` before.
template <bool kFirst>
HWY_INLINE void update_source(const float* HWY_RESTRICT feats, const float* HWY_RESTRICT voxel, int64_t channels,
                              int32_t point, int32_t none, int32_t* HWY_RESTRICT source) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    const auto equal = hn::RebindMask(di, hn::Eq(hn::LoadU(df, feats + c), hn::LoadU(df, voxel + c)));
    const auto before = kFirst ? hn::Set(di, none) : hn::LoadU(di, source + c);
    hn::StoreU(hn::IfThenElse(equal, hn::Min(before, hn::Set(di, point)), before), di, source + c);
  }
  for (; c < channels; ++c) {
    const int32_t before = kFirst ? none : source[c];
    source[c] = feats[c] == voxel[c] ? std::min(before, point) : before;
  }
}

HWY_INLINE void trace_point(const TraceArgs& args, int64_t point, int64_t voxel) {
  const Args& call = args.call;
  const float* feats = call.feats + point * call.channels;
  const float* voxel_feats = call.voxel_feats + voxel * call.channels;
  int32_t* source = args.source + voxel * call.channels;
  const auto number = static_cast<int32_t>(point);
  const SpinGuard guard(args.locks + voxel);
  if (guard.first()) {
    update_source<true>(feats, voxel_feats, call.channels, number, call.point_count, source);
  } else {
    update_source<false>(feats, voxel_feats, call.channels, number, call.point_count, source);
  }
}

void trace(const TraceArgs& args, int64_t begin, int64_t end, Task&) {
  if (!check_points(args.call, {begin, end}, args.bad_point)) return;
  constexpr int32_t kNoVoxel = KeyedPoints::kNoKey;
  const int32_t* voxels = args.call.point2voxel_map;
  for (int64_t point = begin; point < end; ++point) {
    const int64_t next = std::min(point + kPrefetchPoints, end - 1);
    if (voxels[next] != kNoVoxel) prefetch_voxel(args, voxels[next]);
    if (voxels[point] != kNoVoxel) trace_point(args, point, voxels[point]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(trace);

RangeKernel<TraceArgs> trace_kernel() { return MLUOP_DISPATCH(trace); }

}  // namespace mluop::dynamic_scatter_backward
#endif

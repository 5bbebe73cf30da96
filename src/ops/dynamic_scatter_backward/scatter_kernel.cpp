#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/scatter_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/kernels.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Prefetches rows of points this many voxels before their use.
constexpr int64_t kPrefetchVoxels = 8;

// Prefetches the row of the source of a voxel's first channel, which is that of all channels in many voxels.
HWY_INLINE void prefetch_point(const ScatterArgs& args, int64_t voxel) {
  if (args.locks[voxel] == 0) return;
  const int32_t point = args.source[voxel * args.call.channels];
  if (point == args.call.point_count) return;
  prefetch_row<Use::kWrite>(args.call.grad_feats + point * args.call.channels, args.call.row_bytes());
}

// Writes channels [c, c + lanes) of a voxel's gradient to the rows of their sources, one point at a time: most
// voxels have one.
HWY_INLINE void scatter_vector(const Args& call, const int32_t* source, const float* grad, int64_t c) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto points = hn::LoadU(di, source);
  const auto gradient = hn::LoadU(df, grad);
  for (auto remaining = hn::Lt(points, hn::Set(di, call.point_count)); !hn::AllFalse(di, remaining);) {
    const int32_t point = source[hn::FindKnownFirstTrue(di, remaining)];
    const auto of_point = hn::Eq(points, hn::Set(di, point));
    hn::BlendedStore(gradient, hn::RebindMask(df, of_point), df, call.grad_feats + point * call.channels + c);
    remaining = hn::AndNot(of_point, remaining);
  }
}

void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task&) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const int64_t channels = args.call.channels;
  for (int64_t voxel = begin; voxel < end; ++voxel) {
    if (voxel + kPrefetchVoxels < end) prefetch_point(args, voxel + kPrefetchVoxels);
    if (args.locks[voxel] == 0) continue;
    const int32_t* source = args.source + voxel * channels;
    const float* grad = args.call.grad_voxel_feats + voxel * channels;
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) scatter_vector(args.call, source + c, grad + c, c);
    for (; c < channels; ++c) {
      if (source[c] < args.call.point_count) args.call.grad_feats[source[c] * channels + c] = grad[c];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(scatter);

RangeKernel<ScatterArgs> scatter_kernel() { return MLUOP_DISPATCH(scatter); }

}  // namespace mluop::dynamic_scatter_backward
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/scatter_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of points are fetched this many voxels ahead.
constexpr int64_t kPrefetchVoxels = 8;

// Fetches the row of the point that gets a voxel's first gradient: of many voxels, all of them.
HWY_INLINE void prefetch_point(const ScatterArgs& args, int64_t voxel) {
  if (args.locks[voxel] == 0) return;
  const int32_t point = args.source[voxel * args.call.channels];
  if (point == args.call.point_count) return;
  prefetch_row<Use::kWrite>(args.call.grad_feats + point * args.call.channels, args.call.row_bytes());
}

void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const int64_t channels = args.call.channels;
  for (int64_t voxel = begin; voxel < end; ++voxel) {
    if (voxel + kPrefetchVoxels < end) prefetch_point(args, voxel + kPrefetchVoxels);
    if (args.locks[voxel] == 0) continue;
    const int32_t* source = args.source + voxel * channels;
    const float* grad = args.call.grad_voxel_feats + voxel * channels;
    const auto give = [&](int64_t c) {
      if (source[c] < args.call.point_count) args.call.grad_feats[source[c] * channels + c] = grad[c];
    };
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      // Often one point has won a whole vector: of many voxels it is the only one.
      const bool one_winner = hn::AllTrue(di, hn::Eq(hn::LoadU(di, source + c), hn::Set(di, source[c])));
      if (one_winner && source[c] < args.call.point_count) {
        hn::StoreU(hn::LoadU(df, grad + c), df, args.call.grad_feats + source[c] * channels + c);
      } else {
        for (int64_t i = c; i < c + lanes; ++i) give(i);
      }
    }
    for (; c < channels; ++c) give(c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(scatter);

RangeKernel<ScatterArgs> scatter_kernel() { return HWY_DYNAMIC_DISPATCH(scatter); }

}  // namespace mluop::dynamic_scatter_backward
#endif

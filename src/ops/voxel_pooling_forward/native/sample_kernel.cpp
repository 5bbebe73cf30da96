#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/native/sample_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "ops/voxel_pooling_forward/native/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {
using voxel_pooling_forward::HWY_NAMESPACE::locate_points;

// Runs are too far apart for the hardware prefetcher.
constexpr int64_t kPrefetchRuns = 16;

void sample(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  int32_t cells[SampledRuns::kRunPoints], memo[3 * SampledRuns::kRunPoints];
  args.partition.clear_sample(task.taskId);
  for (int64_t run = begin; run < end; ++run) {
    hwy::Prefetch(args.call.geom_xyz + args.sample.points(run + kPrefetchRuns).begin * 3);
    const Range points = args.sample.points(run);
    locate_points(args.call, points.begin, points.size(), args.call.geom_xyz + points.begin * 3, cells, memo);
    for (int64_t i = 0; i < points.size(); ++i) {
      if (cells[i] != kNoCell) args.partition.count(task.taskId, cells[i], run);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::native {

MLUOP_EXPORT_KERNEL(sample_kernel, sample, SampleArgs);

}  // namespace mluop::voxel_pooling_forward::native
#endif

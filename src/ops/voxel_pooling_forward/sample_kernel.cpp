#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sample_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "ops/voxel_pooling_forward/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

// Stretches lie too far apart for the hardware to fetch them early.
constexpr int64_t kPrefetchStretches = 16;

void sample(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  int32_t cells[KeySample::kItems], memo[3 * KeySample::kItems];
  args.order.clear(task.taskId);
  for (int64_t stretch = begin; stretch < end; ++stretch) {
    hwy::Prefetch(args.call.geom_xyz + args.sample.items(stretch + kPrefetchStretches).begin * 3);
    const Range points = args.sample.items(stretch);
    locate_points(args.call, points.begin, points.size(), cells, memo);
    for (int64_t i = 0; i < points.size(); ++i) {
      if (cells[i] != KeyedItems::kNoKey) args.order.count(task.taskId, cells[i], stretch);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward {

HWY_EXPORT(sample);

RangeKernel<SampleArgs> sample_kernel() { return HWY_DYNAMIC_DISPATCH(sample); }

}  // namespace mluop::voxel_pooling_forward
#endif

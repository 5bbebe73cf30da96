#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/sample_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "ops/voxel_pooling_forward/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

void sample(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  args.order.clear(task.taskId);
  int32_t* counts = args.order.counts_of(task.taskId);
  int64_t* positions = args.order.positions_of(task.taskId);
  int32_t cells[Sample::kPoints], memo[3 * Sample::kPoints];
  for (int64_t stretch = begin; stretch < end; ++stretch) {
    const int64_t first = args.sample.first_point(stretch);
    const int64_t count = std::min(Sample::kPoints, args.call.total_points() - first);
    locate_points(args.call, first, count, cells, memo);
    for (int64_t i = 0; i < count; ++i) {
      if (cells[i] == kNoCell) continue;
      const int32_t tile = cells[i] >> args.order.shift;
      ++counts[tile];
      positions[tile] += stretch;
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

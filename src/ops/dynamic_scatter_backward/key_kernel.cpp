#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/key_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "ops/dynamic_scatter_backward/key-inl.h"
#include "primitives/group-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {

void key(const KeyArgs& args, int64_t begin, int64_t end, Task& task) {
  const mluop::HWY_NAMESPACE::GroupTile tile(task.nram, args.tile_points);
  args.voxels.clear(task.taskId);
  for (int64_t point = begin; point < end; point += args.tile_points) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(args.tile_points, end - point));
    if (!key_points(args.call, point, count, tile.keys, args.first_bad)) return;
    append(args.voxels, tile, point, count, task.taskId);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(key);

RangeKernel<KeyArgs> key_kernel() { return HWY_DYNAMIC_DISPATCH(key); }

}  // namespace mluop::dynamic_scatter_backward
#endif

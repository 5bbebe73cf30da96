#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/device/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/check-inl.h"
#include "ops/dynamic_scatter_backward/device/kernels.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::device {
namespace HWY_NAMESPACE {

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t tile_points = std::min(args.tile_points, end - begin);
  auto* map = task.nram.take<int32_t>("map", {tile_points});
  for (int64_t first = begin; first < end; first += tile_points) {
    const int64_t count = std::min(tile_points, end - first);
    ++task.statistics->tiles;
    load(task, map, args.call.point2voxel_map + first, count * int64_t{sizeof(int32_t)});
    const int64_t valid = dynamic_scatter_backward::HWY_NAMESPACE::count_valid(map, count, args.call.voxel_count);
    if (valid < count) {
      args.bad_point.report(first + valid);
      return;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::device {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);

}  // namespace mluop::dynamic_scatter_backward::device
#endif

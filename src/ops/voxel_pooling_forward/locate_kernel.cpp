#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/locate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "ops/voxel_pooling_forward/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "primitives/group-inl.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

void locate(const LocateArgs& args, int64_t begin, int64_t end, Task& task) {
  const mluop::HWY_NAMESPACE::GroupTile tile(task.nram, args.tile_points);
  auto* memo_tile = task.nram.take<int32_t>(static_cast<size_t>(args.tile_points) * 3);
  args.points.clear(task.taskId);
  for (int64_t point = begin; point < end; point += args.tile_points) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(args.tile_points, end - point));
    int32_t* memo = args.call.pos_memo + point * 3;
    locate_points(args.call, args.grid, args.points.no_group(), point, count, tile.keys,
                  args.stream ? memo_tile : memo);
    if (args.stream) mluop::HWY_NAMESPACE::stream_copy(memo, memo_tile, static_cast<size_t>(count) * 3);
    append(args.points, tile, point, count, task.taskId);
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward {

HWY_EXPORT(locate);

RangeKernel<LocateArgs> locate_kernel() { return HWY_DYNAMIC_DISPATCH(locate); }

}  // namespace mluop::voxel_pooling_forward
#endif

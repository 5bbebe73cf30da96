#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/locate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "ops/voxel_pooling_forward/kernels.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "primitives/key_order-inl.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward {
namespace HWY_NAMESPACE {

void locate(const LocateArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kBlock = KeyedItems::kBlockItems;
  auto* memo_tile = task.nram.take<int32_t>(static_cast<size_t>(args.tile_points) * 3);
  const int64_t points_end = std::min(end * kBlock, args.call.total_points());
  for (int64_t point = begin * kBlock; point < points_end; point += args.tile_points) {
    const int64_t count = std::min<int64_t>(args.tile_points, points_end - point);
    int32_t* memo = args.call.pos_memo + point * 3;
    locate_points(args.call, point, count, args.cells + point, args.stream ? memo_tile : memo);
    if (args.stream) mluop::HWY_NAMESPACE::stream_copy(memo, memo_tile, static_cast<size_t>(count) * 3);
    for (int64_t i = point; i < point + count; i += kBlock) {
      mluop::HWY_NAMESPACE::rank_block(args.order, args.points, i / kBlock);
    }
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

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/native/locate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "ops/voxel_pooling_forward/native/kernels.h"
#include "primitives/key_partition-inl.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {
using voxel_pooling_forward::HWY_NAMESPACE::locate_points;

void locate(const LocateArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kChunkPoints = KeyedPoints::kChunkPoints;
  const LocateTile tile(task.nram, args.tile_points);
  const mluop::HWY_NAMESPACE::StreamWriter stream;
  const int64_t points_end = std::min(end * kChunkPoints, args.call.total_points());
  for (int64_t point = begin * kChunkPoints; point < points_end; point += args.tile_points) {
    const int64_t count = std::min(args.tile_points, points_end - point);
    int32_t* memo = args.call.pos_memo + point * 3;
    locate_points(args.call, point, count, args.call.geom_xyz + point * 3, args.cells + point,
                  args.stream ? tile.memo : memo);
    if (args.stream) stream.copy(memo, tile.memo, static_cast<size_t>(count) * 3);
    for (int64_t i = point; i < point + count; i += kChunkPoints) {
      mluop::HWY_NAMESPACE::rank_chunk(args.partition, args.points, i / kChunkPoints);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::native {

MLUOP_EXPORT_KERNEL(locate_kernel, locate, LocateArgs);

}  // namespace mluop::voxel_pooling_forward::native
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/voxel_pooling_forward/locate-inl.h"
#include "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/select_items-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxel_pooling_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::select_items;
using voxel_pooling_forward::HWY_NAMESPACE::locate_points;

void locate(const LocateArgs& args, int64_t begin, int64_t end, Task& task) {
  SortedPoints& sorted = args.sorted;
  const auto counter = sorted.sort.counter(task.taskId);
  const LocateTile tile(task.nram, args.tile_points);
  const mluop::HWY_NAMESPACE::StreamWriter stream;
  int64_t located = begin;
  for (int64_t point = begin; point < end; point += args.tile_points) {
    const int64_t count = std::min(args.tile_points, end - point);
    int32_t* const memo = args.pos_memo + point * 3;
    locate_points(args, point, count, args.geom_xyz + point * 3, tile.cells, args.stream ? tile.memo : memo);
    if (args.stream) stream.copy(memo, tile.memo, static_cast<size_t>(count) * 3);
    const auto in_range = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Ne(hn::LoadU(d, tile.cells + (i - point)), hn::Set(d, kNoCell));
    };
    const int64_t last = located + select_items(point, point + count, in_range, sorted.located + located);
    for (; located < last; ++located) {
      const int32_t cell = tile.cells[sorted.located[located] - point];
      sorted.cells[located] = cell;
      counter.count(cell);
    }
  }
  sorted.located_counts[task.taskId] = located - begin;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxel_pooling_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxel_pooling_forward::native {

MLUOP_EXPORT_KERNEL(locate_kernel, locate, LocateArgs);

void sort_points(const LocateArgs& args, int64_t begin, int64_t, Task& task) {
  SortedPoints& sorted = args.sorted;
  const auto placer = sorted.sort.placer(task.taskId);
  const int64_t end = begin + sorted.located_counts[task.taskId];
  for (int64_t i = begin; i < end; ++i) placer.place(sorted.cells[i], sorted.located[i]);
}

}  // namespace mluop::voxel_pooling_forward::native
#endif

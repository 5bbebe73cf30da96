#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_point_to_voxel_forward/native/reduce_shared_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/dynamic_point_to_voxel_forward/native/kernels.h"
#include "ops/dynamic_point_to_voxel_forward/native/reducer-inl.h"
#include "primitives/channel_lines.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {

template <mluOpReduceMode_t kMode>
void reduce_lines_as(const SharedArgs& args, int64_t begin, int64_t end) {
  const Args& call = args.call;
  const int64_t lines = ceil_div(call.channels, kLineChannels<float>);
  const Reducer<kMode, false> reducer(call, args.points);
  for (int64_t item = begin; item < end;) {
    const int64_t line = item % lines;
    const int64_t i = item / lines;
    const int64_t line_end = std::min(lines, line + end - item);
    reducer.reduce(args.voxels.places(i), channels_of_lines<float>(line, line_end, call.channels),
                   call.voxel_row(args.voxels[i]));
    item += line_end - line;
  }
}

void reduce_lines(const SharedArgs& args, int64_t begin, int64_t end, Task&) {
  if (args.call.reduce_type == MLUOP_REDUCE_DSUM) {
    reduce_lines_as<MLUOP_REDUCE_DSUM>(args, begin, end);
  } else {
    reduce_lines_as<MLUOP_REDUCE_DMEAN>(args, begin, end);
  }
}

void reduce_pieces(const SharedArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t channels = args.call.channels;
  const Reducer<MLUOP_REDUCE_DMAX, false> reducer(args.call, args.points);
  args.voxels.for_each_piece({begin, end}, [&](int64_t i, Range places) HWY_ATTR {
    reducer.reduce(places, {0, channels}, args.pieces.row(task.taskId, i));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_point_to_voxel_forward::native {

MLUOP_EXPORT_KERNEL(reduce_lines_kernel, reduce_lines, SharedArgs);
MLUOP_EXPORT_KERNEL(reduce_pieces_kernel, reduce_pieces, SharedArgs);

void merge_pieces(const SharedArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t channels = args.call.channels;
  const int64_t points = args.voxels.point_count();
  for (int64_t task_id = begin; task_id < end; ++task_id) {
    const Range points_of_task = split(points, args.pieces.task_dim, static_cast<int>(task_id));
    args.voxels.for_each_piece(points_of_task, [&](int64_t i, Range places) {
      const float* const piece = args.pieces.row(task_id, i);
      float* const out = args.call.voxel_row(args.voxels[i]);
      if (places.begin == args.voxels.places(i).begin) {
        std::copy_n(piece, channels, out);
      } else {
        for (int64_t c = 0; c < channels; ++c) out[c] = piece[c] > out[c] ? piece[c] : out[c];
      }
    });
  }
}

}  // namespace mluop::dynamic_point_to_voxel_forward::native
#endif

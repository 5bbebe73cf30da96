// Dynamic scatter backward, device algorithm, which is plan one of the design document: its workspace and its
// launches.
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"

#include <algorithm>

#include "ops/dynamic_scatter_backward/check_map.h"
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_device_kernels.h"
#include "primitives/memory/fill.h"

namespace mluop::dynamic_scatter_backward::device {
namespace {

struct Workspace {
  Workspace(Arena& workspace, int64_t voxels, int64_t channels)
      : reduce_from(workspace.take<int32_t>("reduce_from", {voxels, channels})) {}

  int32_t* reduce_from;  // [voxels, channels]
};

struct Plan {
  int task_dim;
  int64_t check_points;   // points of a tile of check_kernel()
  int64_t tile_points;    // points of a tile of traceback_kernel()
  int64_t tile_voxels;    // voxels of a tile of scatter_kernel()
  int64_t tile_channels;  // channels of both tiles; C, unless one point does not fit NRAM
};

// A tile of one point and some channels fits 1 KiB, the smallest NRAM.
Plan make_plan(const Context& context, const Args& args) {
  const auto nram = static_cast<int64_t>(context.nram_capacity);
  Plan plan{};
  plan.task_dim = device_task_dim();
  plan.check_points = nram / int64_t{sizeof(int32_t)};
  plan.tile_channels = std::min(args.channels, TracebackTile::max_channels(nram));
  plan.tile_points = TracebackTile::max_points(nram, plan.tile_channels);
  plan.tile_voxels = ScatterTile::max_voxels(nram, plan.tile_channels);
  return plan;
}

}  // namespace

size_t workspace_bytes(int64_t points, int64_t channels) {
  if (points == 0 || channels == 0) return 0;
  const int64_t max_voxels = points;
  return workspace_bytes_of<Workspace>(max_voxels, channels);
}

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail("voxel_num[0] ", args.voxel_count, ", device, taskDim ", plan.task_dim, ", tile of ",
                  plan.tile_points, " points x ", plan.tile_channels, " channels");
  context.reserve(0);
  const int64_t grad_bytes = args.point_count * args.row_bytes();
  if (args.voxel_count == 0) {
    fill_zero(context, args.grad_feats, grad_bytes);
    return;
  }
  const Workspace memory(workspace, args.voxel_count, args.channels);
  FirstBadItem bad_point;
  const Evenly points{args.point_count}, voxels{args.voxel_count};
  launch(context, "check_indices", plan.task_dim, points, check_kernel(), {args, plan.check_points, bad_point});
  check_map(args, bad_point);
  launch(context, "fill", plan.task_dim, Evenly{args.voxel_count * args.channels}, fill_kernel(),
         {args.point_count, memory.reduce_from});
  fill_zero(context, args.grad_feats, grad_bytes);
  launch(context, "traceback", plan.task_dim, points, traceback_kernel(),
         {args, plan.tile_points, plan.tile_channels, memory.reduce_from});
  launch(context, "scatter", plan.task_dim, voxels, scatter_kernel(),
         {args, plan.tile_voxels, plan.tile_channels, memory.reduce_from});
}

}  // namespace mluop::dynamic_scatter_backward::device

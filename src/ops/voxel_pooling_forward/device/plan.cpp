#include "ops/voxel_pooling_forward/device/plan.h"

#include "primitives/fill.h"

namespace mluop::voxel_pooling_forward::device {

Plan make_plan(const Context& context) {
  constexpr int64_t kPointBytes = Tile::kParts * int64_t{sizeof(int32_t)};
  const int64_t points = static_cast<int64_t>(context.nram_capacity) / kPointBytes;
  return {device_task_dim(), points, Tile::chunk_channels(points)};
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context);
  call.log_detail("num_voxel_z ", args.num_voxel_z, ", device, taskDim ", plan.task_dim, ", tile of ",
                  plan.tile_points, " points, chunks of ", plan.chunk_channels, " channels");
  context.reserve(0);
  // The kernel writes each element of pos_memo, so only the sums have an initial value.
  fill_zero(context, args.output_features, args.cell_count() * args.row_bytes());
  launch(context, "voxel_pooling_forward", plan.task_dim, Evenly{args.total_points()}, pool_kernel(),
         {args, plan.tile_points});
}

}  // namespace mluop::voxel_pooling_forward::device

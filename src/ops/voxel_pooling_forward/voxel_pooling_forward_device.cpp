// Voxel pooling forward, device algorithm: the decisions of a call, and its launches.
#include "ops/voxel_pooling_forward/voxel_pooling_forward.h"

#include "ops/voxel_pooling_forward/voxel_pooling_forward_device_kernels.h"
#include "primitives/memory/fill.h"
#include "primitives/memory/round_f32.h"

namespace mluop::voxel_pooling_forward::device {
namespace {

struct Scratch {
  Scratch(Arena& arena, const Args& args)
      : sums(is_16_bit(args.dtype) ? arena.take<float>("sums", {args.sum_count()})
                                   : static_cast<float*>(args.output_features)) {}

  float* sums;  // [B, Y, X, C]
};

struct Plan {
  int task_dim;
  int64_t tile_points;    // points in NRAM at a time
  int64_t tile_channels;  // channels of a feature row in NRAM at a time
};

// The smallest NRAM, 1 KiB, holds a tile of 28 points.
Plan make_plan(const Context& context, mluOpDataType_t dtype) {
  constexpr int64_t kPointBytes = Tile::kParts * int64_t{sizeof(int32_t)};
  const int64_t points = static_cast<int64_t>(context.nram_capacity) / kPointBytes;
  return {device_task_dim(), points, Tile::tile_channels(points, static_cast<int64_t>(size_of(dtype)))};
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args.dtype);
  call.log_detail("device, taskDim ", plan.task_dim, ", tile of ", plan.tile_points, " points, chunks of ",
                  plan.tile_channels, " channels");
  Arena arena = context.reserve(bytes_of<Scratch>(args));
  float* const sums = Scratch(arena, args).sums;
  // The kernel writes each element of pos_memo, so only the sums have an initial value.
  fill_zero(context, sums, args.sum_count() * int64_t{sizeof(float)});
  launch(context, "voxel_pooling_forward", plan.task_dim, Evenly{args.total_points()}, pool_kernel(args.dtype),
         {args, sums, plan.tile_points});
  if (is_16_bit(args.dtype)) round_f32(context, args.dtype, {args.sum_count(), sums, args.output_features});
}

}  // namespace mluop::voxel_pooling_forward::device

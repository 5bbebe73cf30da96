#include "ops/voxel_pooling_forward/plan.h"

#include <algorithm>

#include "ops/voxel_pooling_forward/tile.h"
#include "primitives/fill.h"
#include "team/fit_tile.h"

namespace mluop::voxel_pooling_forward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

// Beyond this, larger tiles gain nothing.
constexpr int32_t kMaxTileChannels = 1024;

int64_t bytes_moved(const Args& args) {
  return args.total_points() * (args.row_bytes() + 6 * int64_t{sizeof(int32_t)}) +
         args.cell_count() * args.row_bytes();
}

void run_atomics(Context& context, const Plan& plan, const Args& args) {
  fill_zero(context, args.output_features, args.cell_count() * args.row_bytes());
  launch(context, plan.task_dim, Evenly{args.total_points()}, atomic_kernel(),
         {args, plan.tile_points, plan.tile_channels});
}

void run_deterministic(Context& context, const Plan& plan, const Args& args) {
  const KeySample sample(args.total_points(), plan.task_dim);
  WorkspaceLayout workspace;
  const KeyOrderLayout order_layout(workspace, args.cell_count(), sample);
  const int64_t blocks = KeyedItems::block_count(args.total_points());
  const size_t cells_offset = workspace.add<int32_t>(args.total_points());
  const size_t blocks_offset = workspace.add<KeyedItems::Block>(blocks);
  const size_t begun_offset = workspace.add<uint8_t>(args.cell_count());
  std::byte* pool = context.reserve_pool(workspace.bytes());
  const KeyOrder order(order_layout, pool);
  auto* cells = at<int32_t>(pool, cells_offset);
  const KeyedItems points{args.total_points(), cells, at<KeyedItems::Block>(pool, blocks_offset)};
  auto* begun = at<uint8_t>(pool, begun_offset);
  launch(context, sample.task_dim, Evenly{sample.stretches}, sample_kernel(), {args, sample, order});
  order.decide(context, sample);
  launch(context, plan.task_dim, Evenly{blocks}, locate_kernel(),
         {args, order, points, cells, plan.tile_points, plan.stream});
  fill_zero(context, begun, args.cell_count());
  launch(context, plan.task_dim, ByCost{order}, sum_kernel(), {args, order, points, begun, plan.tile_points});
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.atomics = context.atomics_mode == MLUOP_ATOMICS_ALLOWED;
  plan.task_dim = choose_task_dim(args.total_points(), bytes_moved(args));
  plan.stream = bytes_moved(args) >= kStreamBytes;
  if (plan.atomics) {
    plan.tile_channels = std::min(args.num_channels, kMaxTileChannels);
    plan.tile_points = fit_tile(context, split(args.total_points(), plan.task_dim, 0).size(),
                                [&](int32_t points) { return Tile::bytes(points, plan.tile_channels); });
  } else {
    plan.tile_points = fit_blocks(context, [](int32_t points) {
      return std::max(OwnedList::bytes(points), nram_bytes<int32_t>(size_t{3} * points));
    });
  }
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args) {
  context.reserve_nram(plan.task_dim);
  if (plan.atomics) {
    run_atomics(context, plan, args);
  } else {
    run_deterministic(context, plan, args);
  }
}

}  // namespace mluop::voxel_pooling_forward

#include "ops/voxel_pooling_forward/plan.h"

#include <algorithm>
#include <cstring>

#include "ops/voxel_pooling_forward/tile.h"
#include "team/fit_tile.h"

namespace mluop::voxel_pooling_forward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

// Beyond this, larger tiles gain nothing: the location step is as fast as memory.
constexpr int32_t kMaxLocateTile = 1024;

// A block of channels in NRAM is not longer than this: more gains nothing.
constexpr int32_t kMaxTileChannels = 1024;

// Output tiles of 8 x 8 cells: a row of image pixels crosses several of their cells in one stretch of memory, and
// the sums of the tile stay in the first level of the cache. Measured on the camera geometry of BEVDepth.
constexpr int kMaxTileShift = 3;

// Tiles for each task: enough to divide the work evenly.
constexpr int64_t kTilesPerTask = 16;

// Grids from here on are not tiled: the numbers of their cells would leave int32_t.
constexpr int64_t kMaxTiledCells = int64_t{1} << 28;

int64_t bytes_moved(const Args& args) {
  const int64_t row = int64_t{args.num_channels} * int64_t{sizeof(float)};
  return args.total_points() * (row + 6 * int64_t{sizeof(int32_t)}) + args.cell_count() * row;
}

struct ZeroArgs {
  float* data;
};

void zero(const ZeroArgs& args, int64_t begin, int64_t end, Task&) {
  std::memset(args.data + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
}

// The largest output tile that fits NRAM and leaves enough tiles; its sides are no longer than the grid's need be.
void choose_output_tile(const Context& context, const Args& args, Plan& plan) {
  const auto cells = [&](int shift) {
    return nram_bytes<float>(static_cast<size_t>(plan.tile_channels) << shift);
  };
  const auto fits = [&](int shift_y, int shift_x) {
    const Grid grid(args.batch_size, args.num_voxel_y, args.num_voxel_x, shift_y, shift_x);
    return cells(shift_y + shift_x) <= context.nram_capacity && grid.tile_count >= kTilesPerTask * plan.task_dim;
  };
  plan.shift_y = plan.shift_x = 0;
  if (args.cell_count() >= kMaxTiledCells) return;
  for (int shift = 1; shift <= kMaxTileShift; ++shift) {
    if (1 << (shift - 1) < args.num_voxel_x && fits(plan.shift_y, shift)) plan.shift_x = shift;
    if (1 << (shift - 1) < args.num_voxel_y && fits(shift, plan.shift_x)) plan.shift_y = shift;
  }
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.atomics = context.atomics_mode == MLUOP_ATOMICS_ALLOWED;
  plan.task_dim = choose_task_dim(args.total_points(), bytes_moved(args));
  plan.stream = bytes_moved(args) >= kStreamBytes;
  plan.tile_channels = std::min(args.num_channels, kMaxTileChannels);
  const int64_t share = split(args.total_points(), plan.task_dim, 0).size();
  if (plan.atomics) {
    plan.tile_points =
        fit_tile(context, share, [&](int32_t points) { return Tile::bytes(points, plan.tile_channels); });
  } else {
    plan.tile_points = fit_tile(context, std::min<int64_t>(share, kMaxLocateTile), [](int32_t points) {
      return group_tile_bytes(points) + nram_bytes<int32_t>(size_t{3} * points);
    });
    plan.tile_channels =
        fit_tile(context, plan.tile_channels, [](int32_t channels) { return nram_bytes<float>(channels); });
    choose_output_tile(context, args, plan);
  }
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args) {
  context.reserve_nram(plan.task_dim);
  if (plan.atomics) {
    const int64_t outputs = args.cell_count() * args.num_channels;
    launch(context, plan.task_dim, Evenly{outputs}, zero, ZeroArgs{args.output_features});
    launch(context, plan.task_dim, Evenly{args.total_points()}, atomic_kernel(),
           {args, plan.tile_points, plan.tile_channels});
    return;
  }
  const Grid grid(args.batch_size, args.num_voxel_y, args.num_voxel_x, plan.shift_y, plan.shift_x);
  WorkspaceLayout workspace;
  const GroupLayout layout(workspace, args.total_points(), grid.tile_count,
                           group_task_dim(args.total_points(), grid.tile_count, plan.task_dim), grid.shift());
  const Group points(layout, context.reserve_pool(workspace.bytes()));
  launch(context, points.task_dim, Evenly{points.item_count}, locate_kernel(),
         {args, grid, points, plan.tile_points, plan.stream});
  group_by_key(context, points);
  launch(context, plan.task_dim, ByItems{points, grid.cells_of_tile()}, sum_kernel(),
         {args, grid, points, plan.tile_channels, plan.stream});
}

}  // namespace mluop::voxel_pooling_forward

#include "ops/voxel_pooling_forward/plan.h"

#include <algorithm>
#include <cstring>

#include "core/boundary.h"
#include "core/text.h"
#include "ops/voxel_pooling_forward/tile.h"

namespace mluop::voxel_pooling_forward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

// Beyond this, larger tiles gain nothing: the location step is as fast as memory.
constexpr int32_t kMaxLocateTile = 4096;

// Atomics mode: room for a row of this many channels comes before more points.
constexpr int32_t kMaxTileChannels = 1024;

int64_t bytes_moved(const Args& args) {
  const int64_t row = int64_t{args.num_channels} * int64_t{sizeof(float)};
  return args.total_points() * (row + 6 * int64_t{sizeof(int32_t)}) + args.cell_count() * row;
}

// The largest tile, up to `most` points, for which bytes(points) fits.
template <class Bytes>
int32_t fit_tile(const Context& context, int64_t most, const Bytes& bytes) {
  int32_t low = 0;
  auto high = static_cast<int32_t>(most);
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (bytes(middle) <= context.nram_capacity) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low == 0) {
    throw Failure(MLUOP_STATUS_ALLOC_FAILED,
                  text("MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024,
                       ", expected room for a tile of one point: ", bytes(1), " bytes"));
  }
  return low;
}

struct ZeroArgs {
  float* data;
};

void zero(const ZeroArgs& args, int64_t begin, int64_t end, Task&) {
  std::memset(args.data + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.atomics = context.atomics_mode == MLUOP_ATOMICS_ALLOWED;
  plan.task_dim = choose_task_dim(args.total_points(), bytes_moved(args));
  plan.stream = bytes_moved(args) >= kStreamBytes;
  const int64_t share = split(args.total_points(), plan.task_dim, 0).size();
  if (plan.atomics) {
    plan.tile_channels = std::min(args.num_channels, kMaxTileChannels);
    plan.tile_points =
        fit_tile(context, share, [&](int32_t points) { return Tile::bytes(points, plan.tile_channels); });
  } else {
    plan.tile_points = fit_tile(context, std::min<int64_t>(share, kMaxLocateTile), [](int32_t points) {
      return group_tile_bytes(points) + nram_bytes<int32_t>(size_t{3} * points);
    });
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
  WorkspaceLayout workspace;
  const auto cell_count = static_cast<int32_t>(args.cell_count());
  const GroupLayout layout(workspace, args.total_points(), cell_count,
                           group_task_dim(args.total_points(), cell_count, plan.task_dim));
  const Group cells(layout, context.reserve_pool(workspace.bytes()));
  launch(context, cells.task_dim, Evenly{cells.item_count}, locate_kernel(),
         {args, cells, plan.tile_points, plan.stream});
  group_by_key(context, cells);
  launch(context, plan.task_dim, ByItems{cells}, sum_kernel(), {args, cells, plan.stream});
}

}  // namespace mluop::voxel_pooling_forward

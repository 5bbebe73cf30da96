#include "ops/voxel_pooling_forward/plan.h"

#include <algorithm>

#include "core/caches.h"
#include "ops/voxel_pooling_forward/atomic_tile.h"
#include "primitives/fill.h"

namespace mluop::voxel_pooling_forward {
namespace {

// Larger tiles gain nothing.
constexpr int64_t kMaxTileChannels = 1024;

// The deterministic mode's part of the pool.
struct Pool {
  Pool(Arena& pool, const Args& args, const SampledRuns& sample)
      : partition(pool, args.cell_count(), sample),
        cells(pool.take<int32_t>("cells", {args.total_points()})),
        points(pool, args.total_points(), cells),
        initialized(pool.take<uint8_t>("initialized", {args.cell_count()})) {}

  KeyPartition partition;
  int32_t* cells;        // [B, N]
  KeyedPoints points;    // whose keys are `cells`
  uint8_t* initialized;  // [B, Y, X]
};

int64_t bytes_moved(const Args& args) {
  return args.total_points() * (args.row_bytes() + 6 * int64_t{sizeof(int32_t)}) +
         args.cell_count() * args.row_bytes();
}

void run_atomics(Context& context, const Plan& plan, const Args& args) {
  context.reserve(0);
  fill_zero(context, args.output_features, args.cell_count() * args.row_bytes());
  launch(context, plan.task_dim, Evenly{args.total_points()}, atomic_kernel(),
         {args, plan.tile_points, plan.tile_channels});
}

void run_deterministic(Context& context, const Plan& plan, const Args& args) {
  const SampledRuns sample(args.total_points(), plan.task_dim);
  Arena arena = context.reserve(bytes_of<Pool>(args, sample));
  Pool pool(arena, args, sample);
  launch(context, sample.task_dim, Evenly{sample.count}, sample_kernel(), {args, sample, pool.partition});
  pool.partition.assign_ranks(context, sample);
  launch(context, plan.task_dim, Evenly{pool.points.chunk_count()}, locate_kernel(),
         {args, pool.partition, pool.points, pool.cells, plan.tile_points, plan.stream});
  launch(context, plan.task_dim, ByCost{pool.partition}, sum_kernel(),
         {args, pool.partition, pool.points, pool.initialized, plan.tile_points});
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.atomics = context.atomics_mode == MLUOP_ATOMICS_ALLOWED;
  plan.task_dim = choose_task_dim(args.total_points(), bytes_moved(args));
  plan.stream = exceeds_caches(bytes_moved(args));
  if (plan.atomics) {
    plan.tile_channels = std::min(int64_t{args.num_channels}, kMaxTileChannels);
    plan.tile_points = fit_tile(context, split(args.total_points(), plan.task_dim, 0).size(),
                                [&](int64_t points) { return bytes_of<AtomicTile>(points, plan.tile_channels); });
  } else {
    plan.tile_points = fit_chunks(context, [](int64_t points) {
      return std::max(bytes_of<LocateTile>(points), bytes_of<VisitQueue>(points));
    });
  }
  return plan;
}

void run(Call& call, const Args& args) {
  const Plan plan = make_plan(call.context(), args);
  call.log_detail("num_voxel_z ", args.num_voxel_z, ", ", plan.atomics ? "atomics" : "deterministic", ", taskDim ",
                  plan.task_dim, ", tile of ", plan.tile_points, " points");
  if (plan.atomics) {
    run_atomics(call.context(), plan, args);
  } else {
    run_deterministic(call.context(), plan, args);
  }
}

}  // namespace mluop::voxel_pooling_forward

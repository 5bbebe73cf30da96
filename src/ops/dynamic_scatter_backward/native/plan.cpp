#include "ops/dynamic_scatter_backward/native/plan.h"

#include <algorithm>
#include <cstring>

#include "core/caches.h"
#include "ops/dynamic_scatter_backward/check_map.h"
#include "primitives/fill.h"

namespace mluop::dynamic_scatter_backward::native {
namespace {

// A bucket is shared if it costs more than this many times the mean of the tasks: the pass of its own over the
// points has to pay. On 2 threads of an AMD Zen 4, with rows of 256 bytes, a voxel of 56 % of the points is better
// left to one task (4.2 ms; 5.0 if shared), a voxel of all points is not (3.8 ms; 2.9 if shared).
constexpr double kMaxOwnedCost = 1.5;

struct Workspace {
  Workspace(Arena& workspace, int64_t point_count, int64_t voxels, int64_t channels, const int32_t* map)
      : points(workspace, point_count, map),
        claimed(workspace.take<uint8_t>("claimed", {voxels, max_claimed_bytes(channels)})) {}

  KeyedPoints points;  // whose keys are the map
  uint8_t* claimed;    // [voxels, max_claimed_bytes()]
};

struct Pool {
  Pool(Arena& pool, const Args& args, const SampledRuns& sample, int task_dim)
      : partition(pool, args.voxel_count, sample),
        max_part(kMaxOwnedCost / task_dim),
        shared(pool, partition.max_shared_keys(max_part), task_dim, args.channels) {}

  KeyPartition partition;
  double max_part;  // of the cost: a bucket that has more is shared
  SharedVoxels shared;
};

bool is_max(const Args& args) { return args.reduce_type == MLUOP_REDUCE_DMAX; }

int64_t bytes_moved(const Args& args) {
  return args.point_count * (2 * args.row_bytes() + int64_t{sizeof(int32_t)}) +
         args.voxel_count * (2 * args.row_bytes());
}

struct SampleArgs {
  const Args& call;
  const SampledRuns& sample;
  KeyPartition& partition;
};

// Work items: sampled runs. Counts their points; rank_kernel() reports the invalid values of the map.
void sample_points(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  args.partition.clear_sample(task.taskId);
  for (int64_t run = begin; run < end; ++run) {
    const Range points = args.sample.points(run);
    for (int64_t point = points.begin; point < points.end; ++point) {
      const int32_t voxel = args.call.point2voxel_map[point];
      if (0 <= voxel && voxel < args.call.voxel_count) args.partition.count(task.taskId, voxel, run);
    }
  }
}

// Work items: points. Zeroes the rows of the points without voxel.
void zero_skipped(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t point = begin; point < end; ++point) {
    if (args.point2voxel_map[point] != KeyedPoints::kNoKey) continue;
    std::memset(args.grad_feats_row(point), 0, static_cast<size_t>(args.row_bytes()));
  }
}

void zero_output(Context& context, const Args& args) {
  fill_zero(context, args.grad_feats, args.point_count * args.row_bytes());
}

void launch_steps(Context& context, const Plan& plan, const Args& args, Arena workspace) {
  const Workspace memory(workspace, args.point_count, args.voxel_count, args.channels, args.point2voxel_map);
  const SampledRuns sample(args.point_count, plan.task_dim);
  // Its size depends on the number of tasks, which the workspace query does not know.
  Arena arena = context.reserve(bytes_of<Pool>(args, sample, plan.task_dim));
  Pool pool(arena, args, sample, plan.task_dim);
  KeyPartition& partition = pool.partition;
  FirstBadItem bad_point;
  std::atomic<bool> any_skipped{false};
  launch<SampleArgs>(context, "sample", sample.task_dim, Evenly{sample.count}, sample_points,
                     {args, sample, partition});
  partition.assign_ranks(context, sample, pool.max_part);
  launch(context, "rank", plan.task_dim, Evenly{memory.points.chunk_count()}, rank_kernel(),
         {args, partition, memory.points, bad_point, any_skipped});
  check_map(args, bad_point);
  const MatchArgs match_args{args, partition, memory.points, memory.claimed, plan.tile_points, plan.stream};
  launch(context, "match", plan.task_dim, ByCost{partition}, match_kernel(), match_args);
  const int64_t shared_buckets = partition.shared_ranks().size();
  if (shared_buckets > 0) {
    std::fill_n(pool.shared.first_points, partition.shared_keys() * args.channels, SharedVoxels::kNoPoint);
    const SharedArgs shared_args{match_args, pool.shared};
    launch(context, "claim_shared", plan.task_dim, Evenly{memory.points.chunk_count()}, claim_shared_kernel(),
           shared_args);
    launch(context, "write_shared", plan.task_dim, Evenly{shared_buckets}, write_shared, shared_args);
  }
  if (any_skipped) launch(context, "zero_skipped", plan.task_dim, Evenly{args.point_count}, zero_skipped, args);
}

void launch_gather(Context& context, const Plan& plan, const Args& args) {
  context.reserve(0);
  FirstBadItem bad_point;
  const Evenly points{args.point_count};
  launch(context, "check", plan.task_dim, points, check_kernel(), {args, bad_point});
  check_map(args, bad_point);
  launch(context, "gather", plan.task_dim, points, gather_kernel(), {args, plan.stream});
}

}  // namespace

size_t workspace_bytes(mluOpReduceMode_t reduce_type, int64_t points, int64_t channels) {
  if (reduce_type != MLUOP_REDUCE_DMAX || points == 0 || channels == 0) return 0;
  const int64_t max_voxels = points;
  return workspace_bytes_of<Workspace>(points, max_voxels, channels, nullptr);
}

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = choose_task_dim(args.point_count, bytes_moved(args));
  // Non-temporal stores have to fill whole cache lines.
  const bool whole_lines =
      reinterpret_cast<uintptr_t>(args.grad_feats) % kCacheLine == 0 && args.row_bytes() % kCacheLine == 0;
  plan.stream = whole_lines && exceeds_caches(bytes_moved(args));
  if (is_max(args)) {
    plan.tile_points = fit_chunks(context, [](int64_t points) { return bytes_of<VisitQueue>(points); });
  }
  return plan;
}

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail("voxel_num[0] ", args.voxel_count, ", native, taskDim ", plan.task_dim);
  if (args.voxel_count == 0) {
    context.reserve(0);
    zero_output(context, args);
  } else if (!is_max(args)) {
    launch_gather(context, plan, args);
  } else {
    launch_steps(context, plan, args, workspace);
  }
}

}  // namespace mluop::dynamic_scatter_backward::native

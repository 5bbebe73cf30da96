// Dynamic scatter backward, native algorithm: its workspace and its launches.
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"

#include <algorithm>

#include "core/caches.h"
#include "ops/dynamic_scatter_backward/check_map.h"
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_native_kernels.h"
#include "primitives/memory/fill.h"

namespace mluop::dynamic_scatter_backward::native {
namespace {

// A bucket is shared if it costs more than this many times the mean cost of a task, because sharing adds a pass
// over the points. On 2 threads of an AMD Zen 4, with rows of 256 bytes, a voxel with 56 % of the points is faster
// in one task (4.2 ms; shared 5.0 ms), a voxel with all points is faster if shared (2.9 ms; one task 3.8 ms).
constexpr double kMaxOwnedCost = 1.5;

struct Workspace {
  Workspace(Arena& workspace, int64_t point_count, int64_t voxels, int64_t channels, const int32_t* map)
      : points(workspace, point_count, map),
        claimed(workspace.take<uint8_t>("claimed", {voxels, max_claimed_bytes(channels)})) {}

  KeyedPoints points;  // the map holds the keys
  uint8_t* claimed;    // [voxels, max_claimed_bytes()]
};

// The size of the scratch depends on the number of tasks, which is unknown to the workspace query.
struct Scratch {
  Scratch(Arena& arena, const Args& args, const SampledRuns& sample, int task_dim)
      : partition(arena, args.voxel_count, sample),
        max_part(kMaxOwnedCost / task_dim),
        shared(arena, partition.max_shared_keys(max_part), task_dim, args.channels) {}

  KeyPartition partition;
  double max_part;  // share of the cost above which a bucket is shared
  SharedVoxels shared;
};

bool is_max(const Args& args) { return args.reduce_type == MLUOP_REDUCE_DMAX; }

int64_t bytes_moved(const Args& args) {
  return args.point_count * (2 * args.row_bytes() + int64_t{sizeof(int32_t)}) +
         args.voxel_count * (2 * args.row_bytes());
}

struct Plan {
  int task_dim;
  int64_t tile_points;  // maximum: points in NRAM at a time
  bool stream;          // the output bypasses the caches
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.task_dim = choose_task_dim(args.point_count, bytes_moved(args));
  // Non-temporal stores must fill whole cache lines.
  const bool whole_lines =
      reinterpret_cast<uintptr_t>(args.grad_feats) % kCacheLine == 0 && args.row_bytes() % kCacheLine == 0;
  plan.stream = whole_lines && exceeds_caches(bytes_moved(args));
  if (is_max(args)) {
    plan.tile_points = fit_chunks(context, [](int64_t points) { return bytes_of<VisitQueue>(points); });
  }
  return plan;
}

void run_sum_or_mean(Context& context, const Plan& plan, const Args& args) {
  context.reserve(0);
  FirstBadItem bad_point;
  const Evenly points{args.point_count};
  launch(context, "check", plan.task_dim, points, check_kernel(), {args, bad_point});
  check_map(args, bad_point);
  launch(context, "gather", plan.task_dim, points, gather_kernel(), {args, plan.stream});
}

void run_max(Context& context, const Plan& plan, const Args& args, Arena workspace) {
  const Workspace memory(workspace, args.point_count, args.voxel_count, args.channels, args.point2voxel_map);
  const SampledRuns sample(args.point_count, plan.task_dim);
  Arena arena = context.reserve(bytes_of<Scratch>(args, sample, plan.task_dim));
  Scratch scratch(arena, args, sample, plan.task_dim);
  KeyPartition& partition = scratch.partition;
  FirstBadItem bad_point;
  std::atomic<bool> any_skipped{false};
  launch(context, "sample", sample.task_dim, Evenly{sample.count}, sample_points, {args, sample, partition});
  partition.assign_ranks(context, sample, scratch.max_part);
  const Evenly chunks{memory.points.chunk_count()};
  launch(context, "rank", plan.task_dim, chunks, rank_kernel(),
         {args, partition, memory.points, bad_point, any_skipped});
  check_map(args, bad_point);
  const MatchArgs match_args{args, partition, memory.points, memory.claimed, plan.tile_points, plan.stream};
  launch(context, "match", plan.task_dim, ByCost{partition}, match_kernel(), match_args);
  const int64_t shared_buckets = partition.shared_ranks().size();
  if (shared_buckets > 0) {
    std::fill_n(scratch.shared.first_points, partition.shared_keys() * args.channels, SharedVoxels::kNoPoint);
    const SharedArgs shared_args{match_args, scratch.shared};
    launch(context, "claim_shared", plan.task_dim, chunks, claim_shared_kernel(), shared_args);
    launch(context, "write_shared", plan.task_dim, Evenly{shared_buckets}, write_shared, shared_args);
  }
  if (any_skipped) launch(context, "zero_skipped", plan.task_dim, Evenly{args.point_count}, zero_skipped, args);
}

}  // namespace

size_t workspace_bytes(mluOpReduceMode_t reduce_type, int64_t points, int64_t channels) {
  if (reduce_type != MLUOP_REDUCE_DMAX || points == 0 || channels == 0) return 0;
  const int64_t max_voxels = points;
  return workspace_bytes_of<Workspace>(points, max_voxels, channels, nullptr);
}

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  const Plan plan = make_plan(context, args);
  call.log_detail("voxel_num[0] ", args.voxel_count, ", native, taskDim ", plan.task_dim);
  if (args.voxel_count == 0) {
    context.reserve(0);
    fill_zero(context, args.grad_feats, args.point_count * args.row_bytes());
  } else if (is_max(args)) {
    run_max(context, plan, args, workspace);
  } else {
    run_sum_or_mean(context, plan, args);
  }
}

}  // namespace mluop::dynamic_scatter_backward::native

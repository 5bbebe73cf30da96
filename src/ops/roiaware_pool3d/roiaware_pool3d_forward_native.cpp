// RoI-aware pooling, forward, native algorithm: its workspace and its launches. Points are prepared in groups with
// bounds, RoIs with the common terms of their tests; then each RoI searches its points, counts them into its
// voxels, and pools the voxels with points.
#include "ops/roiaware_pool3d/roiaware_pool3d.h"

#include <algorithm>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/roiaware_pool3d/roiaware_pool3d_forward_native_kernels.h"

namespace mluop::roiaware_pool3d::forward::native {
namespace {

// Cost of testing a point against a RoI, in bytes of memory traffic.
constexpr int64_t kTestBytes = 4;

// Many chunks, because RoIs with many points cost more.
constexpr int64_t kChunksPerTask = 16;

struct Workspace {
  Workspace(Arena& arena, int64_t R, int64_t N) : rois(arena, 1, R), points(arena, 1, N) {}

  PointBoxes rois;
  BoundedPoints points;
};

// The memory that the handle keeps: for each task, the number of points in each voxel of a RoI.
struct Counts {
  Counts(Arena& arena, int task_dim, int64_t roi_voxels)
      : of_tasks(arena.take<int32_t>("counts", {task_dim, roi_voxels})) {}

  int32_t* of_tasks;  // [task_dim, roi_voxels]
};

// Bytes of the outputs. Throws Failure (BAD_PARAM) if they exceed int64_t.
int64_t output_bytes(const ForwardArgs& args) {
  constexpr int64_t kIndexBytes = sizeof(int32_t);
  const int64_t features = args.voxels() * args.C;
  return total_bytes({args.voxels() * args.P * kIndexBytes, features * kIndexBytes,
                      features * static_cast<int64_t>(size_of(args.dtype))});
}

}  // namespace

size_t workspace_bytes(int64_t R, int64_t N) { return workspace_bytes_of<Workspace>(R, N); }

void run(Call& call, const ForwardArgs& args, Arena arena) {
  Context& context = call.context();
  const Workspace workspace(arena, args.R, args.N);
  const int64_t written = output_bytes(args);
  const int64_t test_bytes = saturated_product({args.R, args.N, kTestBytes});
  const int task_dim = choose_task_dim(args.R, std::max(written, test_bytes));
  Arena reserved = context.reserve(bytes_of<Counts>(task_dim, args.roi_voxels()));
  const Counts counts(reserved, task_dim, args.roi_voxels());
  call.log_detail("native, taskDim ", task_dim);

  prepare_boxes(context, workspace.rois, BoxRule::kOnItsBottom, args.dtype, args.rois);
  bound_points(context, workspace.points, args.dtype, args.pts);
  const auto chunks = static_cast<int>(std::min(args.R, kChunksPerTask * task_dim));
  launch_dynamic(context, "pool", task_dim, chunks, Evenly{args.R}, pool_kernel(args.dtype),
                 {args, workspace.rois, workspace.points, counts.of_tasks, exceeds_caches(written)});
}

}  // namespace mluop::roiaware_pool3d::forward::native

// RoI-point pooling, native algorithm: its workspace and its launches. Points are prepared in groups with bounds,
// boxes with the common terms of their tests; then each box searches its first points and copies them.
#include "ops/roipoint_pool3d/roipoint_pool3d.h"

#include <algorithm>

#include "core/caches.h"
#include "core/dtype.h"
#include "ops/roipoint_pool3d/roipoint_pool3d_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::roipoint_pool3d::native {
namespace {

// Cost of testing a point against a box, in bytes of memory traffic.
constexpr int64_t kTestBytes = 4;

// Many chunks, because a box with few points inside tests all points.
constexpr int64_t kChunksPerTask = 16;

// Rows that are in L1 when they are written.
constexpr int64_t kMaxTileRows = 16;

struct Workspace {
  Workspace(Arena& arena, const Sizes& sizes) : boxes(arena, sizes.B, sizes.M), points(arena, sizes.B, sizes.N) {}

  PointBoxes boxes;
  BoundedPoints points;
};

// The memory that the handle keeps: for each task, the points of a box.
struct Samples {
  Samples(Arena& arena, int task_dim, int64_t S) : of_tasks(arena.take<int32_t>("samples", {task_dim, S})) {}

  int32_t* of_tasks;  // [task_dim, S]
};

}  // namespace

size_t workspace_bytes(const Sizes& sizes) { return workspace_bytes_of<Workspace>(sizes); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  const Workspace workspace(arena, args);
  const int64_t boxes = args.B * args.M;
  // The output exists in memory, so its byte count fits int64_t.
  const int64_t written = boxes * args.S * args.row() * static_cast<int64_t>(size_of(args.dtype));
  const int64_t test_bytes = saturated_product({boxes, args.N * kTestBytes});
  const int task_dim = choose_task_dim(boxes, std::max(written, test_bytes));
  const int64_t tile_rows = fit_tile(context, std::min(args.S, kMaxTileRows), [&](int64_t rows) {
    return dispatch_size(args.dtype,
                         [&](auto element) { return bytes_of<SampleTile<decltype(element)>>(rows, args.row()); });
  });
  Arena reserved = context.reserve(bytes_of<Samples>(task_dim, args.S));
  const Samples samples(reserved, task_dim, args.S);
  call.log_detail("native, taskDim ", task_dim);

  prepare_boxes(context, workspace.boxes, BoxRule::kOnItsBottom, args.dtype, args.boxes3d);
  bound_points(context, workspace.points, args.dtype, args.points);
  const auto chunks = static_cast<int>(std::min(boxes, kChunksPerTask * task_dim));
  launch_dynamic(context, "sample", task_dim, chunks, Evenly{boxes}, sample_kernel(args.dtype),
                 {args, workspace.boxes, workspace.points, samples.of_tasks, tile_rows, exceeds_caches(written)});
}

}  // namespace mluop::roipoint_pool3d::native

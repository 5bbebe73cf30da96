// Bird's-eye overlap of 3-D boxes: the launches of the native algorithm. The first computes corners and bounds of
// each box; the second writes each row of the result: zeros, except where the bounds of two boxes meet.
#include "ops/boxes_overlap_bev/boxes_overlap_bev.h"

#include <algorithm>

#include "ops/boxes_overlap_bev/boxes_overlap_bev_native_kernels.h"

namespace mluop::boxes_overlap_bev::native {
namespace {

// Cost of each step, in bytes of memory traffic: the corners and bounds of a box; a group of a row, where some
// boxes meet the box of the row.
constexpr int64_t kPrepareBytes = 1024;
constexpr int64_t kGroupBytes = 1024;

// Many chunks, because rows whose boxes meet many others cost more.
constexpr int64_t kChunksPerTask = 16;

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<PreparedBoxes>(args.N, args.M));
  const PreparedBoxes boxes(arena, args.N, args.M);
  const int64_t groups = boxes.a.bounds.group_count() + boxes.b.bounds.group_count();
  launch(context, "prepare", choose_task_dim(groups, (args.N + args.M) * kPrepareBytes), Evenly{groups},
         prepare_kernel(), {args, boxes});

  const int64_t items = args.N * boxes.b.bounds.group_count();
  const int task_dim = choose_task_dim(items, saturated_product({items, kGroupBytes}));
  const auto chunks = static_cast<int>(std::min(items, kChunksPerTask * task_dim));
  call.log_detail("native, taskDim ", task_dim);
  launch_dynamic(context, "intersect", task_dim, chunks, Evenly{items}, intersect_kernel(), {args, boxes});
}

}  // namespace mluop::boxes_overlap_bev::native

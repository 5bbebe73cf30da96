// Points in boxes: the launches of the native algorithm. The first computes what the tests of a box share, and its
// bounds; then each group of points is compared with the bounds of all boxes, and tested with the boxes that it
// meets.
#include "ops/points_in_boxes/points_in_boxes.h"

#include <algorithm>
#include <limits>

#include "ops/points_in_boxes/points_in_boxes_native_kernels.h"
#include "primitives/memory/fill.h"

namespace mluop::points_in_boxes::native {
namespace {

// Costs for a group of points, in bytes of memory traffic: of the group itself, and with each group of boxes.
constexpr int64_t kPointGroupBytes = 2048;
constexpr int64_t kBoxGroupBytes = 512;

// Many chunks, because groups of points that meet many boxes cost more.
constexpr int64_t kChunksPerTask = 16;

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<PointBoxes>(args.B, args.T));
  const PointBoxes boxes(arena, args.B, args.T);
  const int64_t box_groups = boxes.per_batch / BoxBounds::kGroupBoxes;
  const int64_t items = args.B * ceil_div(args.M, kGroupPoints);
  const auto item_bytes = checked_product(box_groups, kBoxGroupBytes).value_or(INT64_MAX / 2) + kPointGroupBytes;
  const int task_dim = choose_task_dim(items, saturated_product({items, item_bytes}));
  const auto chunks = static_cast<int>(std::min(items, kChunksPerTask * task_dim));
  call.log_detail("native, taskDim ", task_dim);

  prepare_boxes(context, boxes, args.rule, MLUOP_DTYPE_FLOAT, args.boxes);
  if (args.result == Result::kEachBox) {
    fill_zero(context, args.results, args.B * args.M * args.T * int64_t{sizeof(int32_t)});
  }
  launch_dynamic(context, args.result == Result::kEachBox ? "mark" : "find first", task_dim, chunks, Evenly{items},
                 test_kernel(args.result), {args, boxes});
}

}  // namespace mluop::points_in_boxes::native

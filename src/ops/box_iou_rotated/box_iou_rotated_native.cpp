#include "ops/box_iou_rotated/box_iou_rotated_native.h"

#include <algorithm>

#include "core/sizes.h"
#include "ops/box_iou_rotated/box_iou_rotated_native_kernels.h"

namespace mluop::box_iou_rotated::native {
namespace {

// Cost of each step, in bytes of memory traffic.
constexpr int64_t kPrepareBytes = 512;   // preparing a box
constexpr int64_t kAlignedBytes = 1024;  // a pair of unprepared boxes
constexpr int64_t kGroupBytes = 1024;    // a box against a group of boxes

// Many chunks, because boxes lie in clusters: rows differ in the number of overlapping pairs.
constexpr int64_t kChunksPerTask = 16;

struct Scratch {
  Scratch(Arena& arena, const Args& args) : first(arena, args.N), second(arena, args.M) {}

  Boxes first, second;
};

void prepare_boxes(Context& context, const float* from, const Boxes& to) {
  const int64_t count = to.bounds.count;
  launch<PrepareArgs>(context, "prepare", choose_task_dim(count, count * kPrepareBytes), Evenly{count}, prepare,
                      {from, to});
}

void compute_pairs(Context& context, const Args& args, Arena arena) {
  const Scratch scratch(arena, args);
  prepare_boxes(context, args.bbox1, scratch.first);
  prepare_boxes(context, args.bbox2, scratch.second);
  const int64_t items = args.N * scratch.second.bounds.group_count();
  const int task_dim = choose_task_dim(items, saturated_product({items, kGroupBytes}));
  const auto chunks = static_cast<int>(std::min(items, kChunksPerTask * task_dim));
  launch_dynamic(context, "pairs", task_dim, chunks, Evenly{items}, pairs_kernel(),
                 {args, scratch.first, scratch.second});
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  call.log_detail("native");
  if (args.aligned) {
    context.reserve(0);
    launch(context, "aligned", choose_task_dim(args.N, args.N * kAlignedBytes), Evenly{args.N}, compute_aligned,
           args);
  } else {
    compute_pairs(context, args, context.reserve(bytes_of<Scratch>(args)));
  }
}

}  // namespace mluop::box_iou_rotated::native

// NMS of rotated boxes and of quadrilaterals, native algorithm: its workspace, and its launches.
#include <algorithm>

#include "ops/nms_rotated/nms_rotated.h"
#include "primitives/geometry/quadrilateral.h"
#include "primitives/geometry/rotated_box.h"
#include "primitives/geometry/suppression.h"
#include "team/launch.h"

namespace mluop::nms_rotated::native {
namespace {

// Cost of preparing a box, in bytes of memory traffic.
constexpr int64_t kPrepareBytes = 512;

// The boxes in descending order of their scores.
template <class Box>
struct Workspace {
  Workspace(Arena& arena, int64_t N)
      : scores(arena.take<float>("scores", {N})),
        order(arena, N),
        sorted(arena, N),
        is_suppressed(arena.take<uint8_t>("suppressed", {sorted.bounds.padded_count})) {}

  float* scores;  // [N], as the caller passes the boxes
  ScoreOrder order;
  BoundedBoxes<Box> sorted;
  uint8_t* is_suppressed;  // [padded_count]
};

template <class Box>
struct PrepareArgs : Args {
  const uint32_t* indices;  // [N], by score
  const BoundedBoxes<Box>& sorted;
};

// Work items: boxes.
template <class Box>
void prepare(const PrepareArgs<Box>& args, int64_t begin, int64_t end, Task&) {
  const auto& [boxes, bounds] = args.sorted;
  for (int64_t i = begin; i < end; ++i) {
    boxes[i] = Box(args.boxes + args.indices[i] * args.columns);
    bounds.set(i, boxes[i].bounds());
  }
  if (end == args.N) bounds.pad();
}

// The data for testing a pair.
template <class Box>
struct Test {
  static bool suppresses(const void* opaque, int64_t kept, int64_t other) {
    const Test& test = *static_cast<const Test*>(opaque);
    return overlap(OverlapMode::kIou, test.boxes[kept], test.boxes[other]) > test.iou_threshold;
  }

  const Box* boxes;
  float iou_threshold;
};

}  // namespace

template <class Box>
size_t workspace_bytes(int64_t N) {
  return N == 0 ? 0 : workspace_bytes_of<Workspace<Box>>(N);
}

template <class Box>
void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  const Workspace<Box> memory(arena, args.N);
  for (int64_t i = 0; i < args.N; ++i) memory.scores[i] = args.scores[i * args.score_step];
  const uint32_t* const indices = sort_by_score(context, memory.scores, args.N, memory.order);
  const auto& [boxes, bounds] = memory.sorted;
  launch<PrepareArgs<Box>>(context, "prepare", choose_task_dim(args.N, args.N * kPrepareBytes), Evenly{args.N},
                           prepare<Box>, {args, indices, memory.sorted});
  const Test<Box> test{boxes, args.iou_threshold};
  // If the threshold is negative, an IoU of 0 suppresses too.
  suppress(context, {bounds, Test<Box>::suppresses, &test, args.iou_threshold < 0, memory.is_suppressed});
  int32_t* end = args.output;
  for (int64_t i = 0; i < args.N; ++i) {
    if (memory.is_suppressed[i] == 0) *end++ = static_cast<int32_t>(indices[i]);
  }
  if (args.order == Order::kByIndex) std::sort(args.output, end);
  *args.result_num = static_cast<int32_t>(end - args.output);
  std::fill(end, args.output + args.N, 0);
}

template size_t workspace_bytes<RotatedBox>(int64_t N);
template size_t workspace_bytes<Quadrilateral>(int64_t N);
template void run<RotatedBox>(Call& call, const Args& args, Arena arena);
template void run<Quadrilateral>(Call& call, const Args& args, Arena arena);

}  // namespace mluop::nms_rotated::native

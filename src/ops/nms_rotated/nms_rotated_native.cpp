// NMS of rotated boxes, native algorithm: its workspace, and its launches.
#include "ops/nms_rotated/nms_rotated.h"

#include <algorithm>

#include "primitives/geometry/rotated_box.h"
#include "primitives/geometry/suppression.h"
#include "team/launch.h"

namespace mluop::nms_rotated::native {
namespace {

// Cost of preparing a box, in bytes of memory traffic.
constexpr int64_t kPrepareBytes = 512;

// The boxes in descending order of their scores.
struct Workspace {
  Workspace(Arena& arena, int64_t N)
      : order(arena, N),
        boxes(arena.take<RotatedBox>("boxes", {N})),
        bounds(arena, N),
        is_suppressed(arena.take<uint8_t>("suppressed", {bounds.padded_count})) {}

  ScoreOrder order;
  RotatedBox* boxes;  // [N]
  BoxBounds bounds;
  uint8_t* is_suppressed;  // [bounds.padded_count]
};

struct PrepareArgs : Args {
  const uint32_t* indices;  // [N], by score
  const Workspace& sorted;
};

// Work items: boxes.
void prepare(const PrepareArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    args.sorted.boxes[i] = RotatedBox(args.boxes + args.indices[i] * args.columns);
    args.sorted.bounds.set(i, args.sorted.boxes[i].bounds());
  }
  if (end == args.N) args.sorted.bounds.pad();
}

// The data for testing a pair.
struct Test {
  const RotatedBox* boxes;
  float iou_threshold;
};

bool suppresses(const void* opaque, int64_t kept, int64_t other) {
  const Test& test = *static_cast<const Test*>(opaque);
  return overlap(OverlapMode::kIou, test.boxes[kept], test.boxes[other]) > test.iou_threshold;
}

}  // namespace

size_t workspace_bytes(int64_t N) { return N == 0 ? 0 : workspace_bytes_of<Workspace>(N); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  const Workspace sorted(arena, args.N);
  const uint32_t* const indices = sort_by_score(context, args.scores, args.N, sorted.order);
  launch<PrepareArgs>(context, "prepare", choose_task_dim(args.N, args.N * kPrepareBytes), Evenly{args.N}, prepare,
                      {args, indices, sorted});
  const Test test{sorted.boxes, args.iou_threshold};
  // If the threshold is negative, an IoU of 0 suppresses too.
  suppress(context, {sorted.bounds, suppresses, &test, args.iou_threshold < 0, sorted.is_suppressed});
  int32_t* end = args.output;
  for (int64_t i = 0; i < args.N; ++i) {
    if (sorted.is_suppressed[i] == 0) *end++ = static_cast<int32_t>(indices[i]);
  }
  *args.result_num = static_cast<int32_t>(end - args.output);
  std::fill(end, args.output + args.N, 0);
}

}  // namespace mluop::nms_rotated::native

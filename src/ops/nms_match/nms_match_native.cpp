// NMS match, native algorithm: its workspace, and its launches.
#include "ops/nms_match/nms_match.h"

#include <algorithm>

#include "primitives/geometry/suppression.h"
#include "team/launch.h"

namespace mluop::nms_match::native {
namespace {

// Cost of reading a row of dets, in bytes of memory traffic.
constexpr int64_t kRowBytes = 32;

struct Workspace {
  Workspace(Arena& arena, int64_t N)
      : scores(arena.take<float>("scores", {N})),
        order(arena, N),
        boxes(arena, N),
        is_suppressed(arena.take<uint8_t>("suppressed", {boxes.padded_count})),
        suppressor(arena.take<uint32_t>("suppressor", {N})) {}

  float* scores;  // [N]
  ScoreOrder order;
  // In descending order of score. The bounds of a box are the box itself.
  BoxBounds boxes;
  uint8_t* is_suppressed;  // [boxes.padded_count]
  uint32_t* suppressor;    // [N]
};

struct KernelArgs : Args {
  const Workspace& workspace;
  const uint32_t* indices;  // [N], by score
};

// Work items: rows of dets.
void copy_scores(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) args.workspace.scores[i] = args.dets[i * kColumns + 4];
}

// Work items: boxes.
void copy_boxes(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    const float* row = args.dets + args.indices[i] * kColumns;
    args.workspace.boxes.set(i, {row[0], row[1], row[2], row[3]});
  }
  if (end == args.N) args.workspace.boxes.pad();
}

// The data for testing a pair.
struct Test {
  const BoxBounds& boxes;
  float iou_threshold;
};

bool suppresses(const void* opaque, int64_t kept, int64_t other) {
  const Test& test = *static_cast<const Test*>(opaque);
  const Bounds a = test.boxes[kept], b = test.boxes[other];
  return iou_of(shared_area(a, b, 0), area_of(a, 0), area_of(b, 0)) >= test.iou_threshold;
}

// Writes the outputs.
void write_groups(const KernelArgs& args) {
  const Workspace& workspace = args.workspace;
  // The group of each box. A box comes after the box that suppresses it.
  uint32_t* const group = workspace.suppressor;
  int32_t group_num = 0;
  std::fill_n(args.group_sizes, args.N, 0);
  for (int64_t i = 0; i < args.N; ++i) {
    group[i] = workspace.is_suppressed[i] == 0 ? static_cast<uint32_t>(group_num++) : group[group[i]];
    ++args.group_sizes[group[i]];
  }
  *args.group_num = group_num;
  // The place of the next member of each group, in the memory of the sort: only its indices are still needed.
  uint32_t* const place = workspace.order.sort.keys[0];
  uint32_t first = 0;
  for (int64_t g = 0; g < group_num; ++g) {
    place[g] = first;
    first += static_cast<uint32_t>(args.group_sizes[g]);
  }
  for (int64_t i = 0; i < args.N; ++i) args.members[place[group[i]]++] = static_cast<int32_t>(args.indices[i]);
}

}  // namespace

size_t workspace_bytes(int64_t N) { return N == 0 ? 0 : workspace_bytes_of<Workspace>(N); }

void run(Call& call, const Args& args, Arena arena) {
  Context& context = call.context();
  context.reserve(0);
  call.log_detail("native");
  const Workspace workspace(arena, args.N);
  KernelArgs kernel_args{args, workspace, nullptr};
  const int task_dim = choose_task_dim(args.N, args.N * kRowBytes);
  launch(context, "copy scores", task_dim, Evenly{args.N}, copy_scores, kernel_args);
  kernel_args.indices = sort_by_score(context, workspace.scores, args.N, workspace.order);
  launch(context, "copy boxes", task_dim, Evenly{args.N}, copy_boxes, kernel_args);
  const Test test{workspace.boxes, args.iou_threshold};
  // Boxes that do not meet have an IoU of 0 or NaN.
  suppress(context, {workspace.boxes, suppresses, &test, args.iou_threshold <= 0, workspace.is_suppressed,
                     workspace.suppressor});
  write_groups(kernel_args);
}

}  // namespace mluop::nms_match::native

// mluOpBoxIouRotated in one file: kernels, launches, entry.
// Start with the entry at the end, then compute_pairs() and the kernels; write_overlaps() is in
// primitives/geometry/box_bounds-inl.h, overlap() in primitives/geometry/rotated_box.cpp.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/box_iou_rotated/box_iou_rotated.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/geometry/box_bounds-inl.h"
#include "primitives/geometry/rotated_box.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::box_iou_rotated {
using Boxes = BoundedBoxes<RotatedBox>;
}
HWY_BEFORE_NAMESPACE();
namespace mluop::box_iou_rotated {
namespace HWY_NAMESPACE {

// Writes the overlaps [N, M]. Work items: pairs of a first box and a group of second boxes.
void write_ious(OverlapMode mode, const Boxes& first, const Boxes& second, int64_t begin, int64_t end, float* to) {
  const auto overlap_of = [=](const RotatedBox& a, const RotatedBox& b) { return overlap(mode, a, b); };
  mluop::HWY_NAMESPACE::write_overlaps(first, second, begin, end, overlap_of, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::box_iou_rotated
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::box_iou_rotated {
namespace {

HWY_EXPORT(write_ious);

// Cost of each step, in bytes of memory traffic.
constexpr int64_t kPrepareBytes = 512;   // preparing a box
constexpr int64_t kAlignedBytes = 1024;  // a pair of unprepared boxes
constexpr int64_t kGroupBytes = 1024;    // a box against a group of boxes

// Many chunks, because boxes lie in clusters: rows differ in the number of overlapping pairs.
constexpr int64_t kChunksPerTask = 16;

struct Args {
  int64_t N, M;
  OverlapMode mode;
  const float* bbox1;  // [N, 5]
  const float* bbox2;  // [M, 5]
  float* ious;         // [N, M]; aligned: [N]
};

struct Scratch {
  Scratch(Arena& arena, const Args& args) : first(arena, args.N), second(arena, args.M) {}

  Boxes first, second;
};

void prepare(Context& context, const float* boxes, const Boxes& to) {
  struct PrepareArgs {
    const float* boxes;  // [count, 5]
    const Boxes& to;
  };
  const int64_t count = to.bounds.count;
  launch<PrepareArgs>(context, "prepare", choose_task_dim(count, count * kPrepareBytes), Evenly{count},
                      [](const PrepareArgs& args, int64_t begin, int64_t end, Task&) {
                        for (int64_t i = begin; i < end; ++i) {
                          args.to.boxes[i] = RotatedBox(args.boxes + i * 5);
                          args.to.bounds.set(i, args.to.boxes[i].bounds());
                        }
                        if (end == args.to.bounds.count) args.to.bounds.pad();
                      },
                      {boxes, to});
}

void compute_pairs(Context& context, const Args& args) {
  Arena arena = context.reserve(bytes_of<Scratch>(args));
  const Scratch boxes(arena, args);
  prepare(context, args.bbox1, boxes.first);
  prepare(context, args.bbox2, boxes.second);
  const int64_t items = args.N * boxes.second.bounds.group_count();
  const int task_dim = choose_task_dim(items, saturated_product({items, kGroupBytes}));
  const auto chunks = static_cast<int>(std::min(items, kChunksPerTask * task_dim));
  struct PairArgs : Args {
    const Scratch& boxes;
  };
  launch_dynamic<PairArgs>(context, "pairs", task_dim, chunks, Evenly{items},
                           [](const PairArgs& pairs, int64_t begin, int64_t end, Task&) {
                             const auto& [first, second] = pairs.boxes;
                             MLUOP_DISPATCH(write_ious)(pairs.mode, first, second, begin, end, pairs.ious);
                           },
                           {args, boxes});
}

}  // namespace
}  // namespace mluop::box_iou_rotated

mluOpStatus_t MLUOP_WIN_API mluOpBoxIouRotated(mluOpHandle_t handle, const int mode, const bool aligned,
                                               const mluOpTensorDescriptor_t bbox1_desc, const void* bbox1,
                                               const mluOpTensorDescriptor_t bbox2_desc, const void* bbox2,
                                               const mluOpTensorDescriptor_t ious_desc, void* ious) {
  using namespace mluop;
  using namespace mluop::box_iou_rotated;
  return run_operator("mluOpBoxIouRotated", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    const int64_t N = dim_of(bbox1_desc, 0), M = dim_of(bbox2_desc, 0);
    call.parameter("mode", mode);
    call.parameter("aligned", aligned);
    // With zero boxes, the column count is unchecked.
    call.input("bbox1", bbox1_desc, bbox1, kFloat, kAnyLayout, {kAny, N == 0 ? kAny : 5});
    call.input("bbox2", bbox2_desc, bbox2, kFloat, kAnyLayout, {aligned ? N : kAny, M == 0 ? kAny : 5});
    if (aligned) {
      call.output("ious", ious_desc, ious, kFloat, kAnyLayout, {N});
    } else {
      call.output("ious", ious_desc, ious, kFloat, kAnyLayout, {N, M});
    }
    if (N == 0 || M == 0) call.reads_nothing();

    call.check_pointers();
    require(mode == 0 || mode == 1, MLUOP_STATUS_BAD_PARAM, "mode is ", mode, ", expected 0 (IoU) or 1 (IoF)");
    require_int32_count("bbox1 dim 0", N);
    require_int32_count("bbox2 dim 0", M);
    call.check_tensors();
    if (N == 0 || M == 0) return;

    const Args args{N,
                    M,
                    mode == 0 ? OverlapMode::kIou : OverlapMode::kIof,
                    static_cast<const float*>(bbox1),
                    static_cast<const float*>(bbox2),
                    static_cast<float*>(ious)};
    call.log_detail("native");
    if (!aligned) return compute_pairs(call.context(), args);
    call.context().reserve(0);
    launch<Args>(
        call.context(), "aligned", choose_task_dim(N, N * kAlignedBytes), Evenly{N},
        [](const Args& to, int64_t begin, int64_t end, Task&) {
          for (int64_t n = begin; n < end; ++n) {
            to.ious[n] = overlap(to.mode, RotatedBox(to.bbox1 + n * 5), RotatedBox(to.bbox2 + n * 5));
          }
        },
        args);
  });
}
#endif

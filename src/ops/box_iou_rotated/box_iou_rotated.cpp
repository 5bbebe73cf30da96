// mluOpBoxIouRotated, mluOpOmpBoxIouQuadri and mluOpOmpConvexIou in one file: kernels, launches, entries.
// Start with the entries at the end, then run(), compute_pairs() and the kernels; write_overlaps() is in
// primitives/geometry/box_bounds-inl.h, overlap() in rotated_box.cpp and quadrilateral.h there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/box_iou_rotated/box_iou_rotated.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/checks.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "mlu_op_omp.h"
#include "primitives/geometry/box_bounds-inl.h"
#include "primitives/geometry/point_set.h"
#include "primitives/geometry/quadrilateral.h"
#include "primitives/geometry/rotated_box.h"
#include "team/launch.h"
#include "team/operator_call.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::box_iou_rotated {
namespace HWY_NAMESPACE {

// Writes the overlaps [N, M]. Work items: pairs of a first box and a group of second boxes.
template <class First, class Second>
void write_ious(OverlapMode mode, const BoundedBoxes<First>& first, const BoundedBoxes<Second>& second,
                int64_t begin, int64_t end, float* to) {
  const auto overlap_of = [=](const First& a, const Second& b) { return overlap(mode, a, b); };
  mluop::HWY_NAMESPACE::write_overlaps(first, second, begin, end, overlap_of, to);
}

// The functions of the dispatch tables.
void write_rotated(OverlapMode mode, const BoundedBoxes<RotatedBox>& first, const BoundedBoxes<RotatedBox>& second,
                   int64_t begin, int64_t end, float* to) {
  write_ious(mode, first, second, begin, end, to);
}
void write_quadri(OverlapMode mode, const BoundedBoxes<Quadrilateral>& first,
                  const BoundedBoxes<Quadrilateral>& second, int64_t begin, int64_t end, float* to) {
  write_ious(mode, first, second, begin, end, to);
}
void write_convex(OverlapMode mode, const BoundedBoxes<PointSet>& first, const BoundedBoxes<Quadrilateral>& second,
                  int64_t begin, int64_t end, float* to) {
  write_ious(mode, first, second, begin, end, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::box_iou_rotated
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::box_iou_rotated {
namespace {

HWY_EXPORT(write_rotated);
HWY_EXPORT(write_quadri);
HWY_EXPORT(write_convex);

// Cost of each step, in bytes of memory traffic.
constexpr int64_t kPrepareBytes = 512;   // preparing a box
constexpr int64_t kAlignedBytes = 1024;  // a pair of unprepared boxes
constexpr int64_t kGroupBytes = 1024;    // a box against a group of boxes

// Many chunks, because boxes lie in clusters: rows differ in the number of overlapping pairs.
constexpr int64_t kChunksPerTask = 16;

struct Args {
  int64_t N, M;
  OverlapMode mode;
  const float* bbox1;  // [N, columns]
  const float* bbox2;  // [M, columns]
  float* ious;         // [N, M]; aligned: [N]
};

template <class First, class Second>
struct Scratch {
  Scratch(Arena& arena, const Args& args) : first(arena, args.N), second(arena, args.M) {}

  BoundedBoxes<First> first;
  BoundedBoxes<Second> second;
};

template <class Box>
void prepare(Context& context, const float* boxes, const BoundedBoxes<Box>& to) {
  struct PrepareArgs {
    const float* boxes;  // [count, columns]
    const BoundedBoxes<Box>& to;
  };
  const int64_t count = to.bounds.count;
  launch<PrepareArgs>(context, "prepare", choose_task_dim(count, count * kPrepareBytes), Evenly{count},
                      [](const PrepareArgs& args, int64_t begin, int64_t end, Task&) {
                        for (int64_t i = begin; i < end; ++i) {
                          args.to.boxes[i] = Box(args.boxes + i * Box::kColumns);
                          args.to.bounds.set(i, args.to.boxes[i].bounds());
                        }
                        if (end == args.to.bounds.count) args.to.bounds.pad();
                      },
                      {boxes, to});
}

template <class First, class Second>
void compute_pairs(Context& context, const Args& args) {
  Arena arena = context.reserve(bytes_of<Scratch<First, Second>>(args));
  const Scratch<First, Second> boxes(arena, args);
  prepare(context, args.bbox1, boxes.first);
  prepare(context, args.bbox2, boxes.second);
  const int64_t items = args.N * boxes.second.bounds.group_count();
  const int task_dim = choose_task_dim(items, saturated_product({items, kGroupBytes}));
  const auto chunks = static_cast<int>(std::min(items, kChunksPerTask * task_dim));
  struct PairArgs : Args {
    const Scratch<First, Second>& boxes;
  };
  launch_dynamic<PairArgs>(context, "pairs", task_dim, chunks, Evenly{items},
                           [](const PairArgs& pairs, int64_t begin, int64_t end, Task&) {
                             const auto& [first, second] = pairs.boxes;
                             if constexpr (std::is_same_v<First, RotatedBox>) {
                               MLUOP_DISPATCH(write_rotated)(pairs.mode, first, second, begin, end, pairs.ious);
                             } else if constexpr (std::is_same_v<First, Quadrilateral>) {
                               MLUOP_DISPATCH(write_quadri)(pairs.mode, first, second, begin, end, pairs.ious);
                             } else {
                               MLUOP_DISPATCH(write_convex)(pairs.mode, first, second, begin, end, pairs.ious);
                             }
                           },
                           {args, boxes});
}

// The names of the tensors of an operator.
struct Names {
  const char *first, *second;
};

// Declares the tensors and checks the call. Returns whether there is something to compute.
template <class First, class Second>
bool check(Call& call, const Names& names, int mode, bool aligned, const Input& first, const Input& second,
           const Output& ious) {
  constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
  const int64_t N = dim_of(first.desc, 0), M = dim_of(second.desc, 0);
  // With zero boxes, the column count is unchecked.
  call.input(names.first, first.desc, first.data, kFloat, kAnyLayout, {kAny, N == 0 ? kAny : First::kColumns});
  call.input(names.second, second.desc, second.data, kFloat, kAnyLayout,
             {aligned ? N : kAny, M == 0 ? kAny : Second::kColumns});
  if (aligned) {
    call.output("ious", ious.desc, ious.data, kFloat, kAnyLayout, {N});
  } else {
    call.output("ious", ious.desc, ious.data, kFloat, kAnyLayout, {N, M});
  }
  if (N == 0 || M == 0) call.reads_nothing();
  call.check_pointers();
  require(mode == 0 || mode == 1, MLUOP_STATUS_BAD_PARAM, "mode is ", mode, ", expected 0 (IoU) or 1 (IoF)");
  const auto require_int32 = [](const char* name, int64_t count) {
    require(count < int64_t{1} << 31, MLUOP_STATUS_NOT_SUPPORTED, name, " dim 0 is ", count,
            ", expected fewer than 2^31");
  };
  require_int32(names.first, N);
  require_int32(names.second, M);
  call.check_tensors();
  return N != 0 && M != 0;
}

// Boxes of one kind.
template <class Box>
void run(Call& call, int mode, bool aligned, const Input& bbox1, const Input& bbox2, const Output& ious) {
  call.parameter("mode", mode);
  call.parameter("aligned", aligned);
  if (!check<Box, Box>(call, {"bbox1", "bbox2"}, mode, aligned, bbox1, bbox2, ious)) return;
  const int64_t N = dim_of(bbox1.desc, 0);
  const Args args{N,
                  dim_of(bbox2.desc, 0),
                  mode == 0 ? OverlapMode::kIou : OverlapMode::kIof,
                  static_cast<const float*>(bbox1.data),
                  static_cast<const float*>(bbox2.data),
                  static_cast<float*>(ious.data)};
  call.log_detail("native");
  if (!aligned) return compute_pairs<Box, Box>(call.context(), args);
  call.context().reserve(0);
  launch<Args>(
      call.context(), "aligned", choose_task_dim(N, N * kAlignedBytes), Evenly{N},
      [](const Args& to, int64_t begin, int64_t end, Task&) {
        for (int64_t n = begin; n < end; ++n) {
          to.ious[n] = overlap(to.mode, Box(to.bbox1 + n * Box::kColumns), Box(to.bbox2 + n * Box::kColumns));
        }
      },
      args);
}

void run_convex(Call& call, const Input& pointsets, const Input& polygons, const Output& ious) {
  if (!check<PointSet, Quadrilateral>(call, {"pointsets", "polygons"}, 0, false, pointsets, polygons, ious))
    return;
  call.log_detail("native");
  compute_pairs<PointSet, Quadrilateral>(
      call.context(), {dim_of(pointsets.desc, 0), dim_of(polygons.desc, 0), OverlapMode::kIou,
                       static_cast<const float*>(pointsets.data), static_cast<const float*>(polygons.data),
                       static_cast<float*>(ious.data)});
}

}  // namespace
}  // namespace mluop::box_iou_rotated

mluOpStatus_t MLUOP_WIN_API mluOpBoxIouRotated(mluOpHandle_t handle, const int mode, const bool aligned,
                                               const mluOpTensorDescriptor_t bbox1_desc, const void* bbox1,
                                               const mluOpTensorDescriptor_t bbox2_desc, const void* bbox2,
                                               const mluOpTensorDescriptor_t ious_desc, void* ious) {
  return mluop::run_operator("mluOpBoxIouRotated", handle, [&](mluop::Call& call) {
    mluop::box_iou_rotated::run<mluop::RotatedBox>(call, mode, aligned, {bbox1_desc, bbox1}, {bbox2_desc, bbox2},
                                                   {ious_desc, ious});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpBoxIouQuadri(mluOpHandle_t handle, const int mode, const bool aligned,
                                                 const mluOpTensorDescriptor_t bbox1_desc, const void* bbox1,
                                                 const mluOpTensorDescriptor_t bbox2_desc, const void* bbox2,
                                                 const mluOpTensorDescriptor_t ious_desc, void* ious) {
  return mluop::run_operator("mluOpOmpBoxIouQuadri", handle, [&](mluop::Call& call) {
    mluop::box_iou_rotated::run<mluop::Quadrilateral>(call, mode, aligned, {bbox1_desc, bbox1},
                                                      {bbox2_desc, bbox2}, {ious_desc, ious});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpConvexIou(mluOpHandle_t handle, const mluOpTensorDescriptor_t pointsets_desc,
                                              const void* pointsets, const mluOpTensorDescriptor_t polygons_desc,
                                              const void* polygons, const mluOpTensorDescriptor_t ious_desc,
                                              void* ious) {
  return mluop::run_operator("mluOpOmpConvexIou", handle, [&](mluop::Call& call) {
    mluop::box_iou_rotated::run_convex(call, {pointsets_desc, pointsets}, {polygons_desc, polygons},
                                       {ious_desc, ious});
  });
}
#endif

// mluOpBboxOverlaps: entry and launches.
// Start with the entry at the end, then run(); the kernels are in bbox_overlaps_native_kernels.cpp.
//
// Letters: N first and M second boxes.
#include "ops/bbox_overlaps/bbox_overlaps.h"

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "primitives/memory/split_columns.h"
#include "team/operator_call.h"

namespace mluop::bbox_overlaps {
namespace {

struct Scratch {
  Scratch(Arena& arena, int64_t M) : columns(arena.take<float>("columns", {4, M})) {}

  float* columns;
};

void run(Call& call, Args args) {
  Context& context = call.context();
  constexpr int64_t kPairBytes = 16;  // cost of a pair, in bytes of memory traffic
  call.log_detail("native");
  if (args.is_aligned) {
    context.reserve(0);
    launch(context, "aligned", choose_task_dim(args.N, args.N * kPairBytes), Evenly{args.N},
           aligned_kernel(args.dtype), args);
    return;
  }
  Arena arena = context.reserve(bytes_of<Scratch>(args.M));
  const Scratch scratch(arena, args.M);
  split_columns<4>(context, args.dtype, args.M, args.bbox2, scratch.columns);
  args.columns = scratch.columns;
  const int64_t items = args.N * ceil_div(args.M, kChunk);
  launch(context, "pairs", choose_task_dim(items, saturated_product({args.N, args.M, kPairBytes})), Evenly{items},
         pairs_kernel(args.dtype), args);
}

}  // namespace
}  // namespace mluop::bbox_overlaps

mluOpStatus_t MLUOP_WIN_API mluOpBboxOverlaps(mluOpHandle_t handle, const int mode, const bool aligned,
                                              const int offset, const mluOpTensorDescriptor_t bbox1_desc,
                                              const void* bbox1, const mluOpTensorDescriptor_t bbox2_desc,
                                              const void* bbox2, const mluOpTensorDescriptor_t ious_desc,
                                              void* ious) {
  using namespace mluop;
  using namespace mluop::bbox_overlaps;
  return run_operator("mluOpBboxOverlaps", handle, [&](Call& call) {
    const auto dtype = dtype_of(bbox1_desc);
    const int64_t N = dim_of(bbox1_desc, 0), M = dim_of(bbox2_desc, 0);
    call.parameter("mode", mode);
    call.parameter("aligned", aligned);
    call.parameter("offset", offset);
    // With zero boxes, the column count is unchecked.
    call.input("bbox1", bbox1_desc, bbox1, dtype, kAnyLayout, {kAny, N == 0 ? kAny : 4});
    call.input("bbox2", bbox2_desc, bbox2, dtype, kAnyLayout, {aligned ? N : kAny, M == 0 ? kAny : 4});
    if (aligned) {
      call.output("ious", ious_desc, ious, dtype, kAnyLayout, {N});
    } else {
      call.output("ious", ious_desc, ious, dtype, kAnyLayout, {N, M});
    }
    if (N == 0 || M == 0) call.reads_nothing();

    call.check_pointers();
    require(mode == 0 || mode == 1, MLUOP_STATUS_BAD_PARAM, "mode is ", mode, ", expected 0 (IoU) or 1 (IoF)");
    require(offset == 0 || offset == 1, MLUOP_STATUS_BAD_PARAM, "offset is ", offset, ", expected 0 or 1");
    require_element_type("bbox1", dtype);
    call.check_tensors();
    if (N == 0 || M == 0) return;
    run(call, {N, M, mode == 1, aligned, static_cast<float>(offset), dtype, bbox1, bbox2, ious, nullptr});
  });
}

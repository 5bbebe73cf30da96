// mluOpBoxIouRotated: entry and checks.
// Start with the entry below, then run() in box_iou_rotated_native.cpp, its kernels in
// box_iou_rotated_native_kernels.cpp, and overlap() in primitives/rotated_box.cpp.
#include "ops/box_iou_rotated/box_iou_rotated_native.h"

mluOpStatus_t MLUOP_WIN_API mluOpBoxIouRotated(mluOpHandle_t handle, const int mode, const bool aligned,
                                               const mluOpTensorDescriptor_t bbox1_desc, const void* bbox1,
                                               const mluOpTensorDescriptor_t bbox2_desc, const void* bbox2,
                                               const mluOpTensorDescriptor_t ious_desc, void* ious) {
  using namespace mluop;
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

    box_iou_rotated::native::run(call, {
                                           .N = N,
                                           .M = M,
                                           .mode = mode == 0 ? OverlapMode::kIou : OverlapMode::kIof,
                                           .aligned = aligned,
                                           .bbox1 = static_cast<const float*>(bbox1),
                                           .bbox2 = static_cast<const float*>(bbox2),
                                           .ious = static_cast<float*>(ious),
                                       });
  });
}

// mluOpNmsRotated and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() in nms_rotated_native.cpp, and suppress() in
// primitives/geometry/suppression.cpp.
#include "ops/nms_rotated/nms_rotated.h"

namespace mluop::nms_rotated {
namespace {

// Declares the boxes of the operator and of its query.
void declare_boxes(Call& call, const TensorDescriptor* desc, const void* boxes) {
  call.input("boxes", desc, boxes, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny});
  if (dim_of(desc, 0) == 0) call.reads_nothing();
}

// Checks everything except data and workspace.
void check_boxes(Call& call, const TensorDescriptor* desc) {
  call.check_pointers();
  const int64_t N = dim_of(desc, 0), columns = dim_of(desc, 1);
  require_int32_count("boxes dim 0", N);
  call.check_tensors();
  // With zero boxes, the column count is unchecked.
  require(N == 0 || columns == 5 || columns == 6, MLUOP_STATUS_BAD_PARAM, "boxes dim 1 is ", columns,
          ", expected 5, or 6 with labels");
}

}  // namespace
}  // namespace mluop::nms_rotated

mluOpStatus_t MLUOP_WIN_API mluOpGetNmsRotatedWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t boxes_desc,
                                                            size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::nms_rotated;
  return run_workspace_query("mluOpGetNmsRotatedWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_boxes(call, boxes_desc, nullptr);
    check_boxes(call, boxes_desc);
    return native::workspace_bytes(boxes_desc->dims[0]);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpNmsRotated(mluOpHandle_t handle, const float iou_threshold,
                                            const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                            const mluOpTensorDescriptor_t scores_desc, const void* scores,
                                            void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t output_desc, void* output,
                                            int32_t* result_num) {
  using namespace mluop;
  using namespace mluop::nms_rotated;
  return run_operator("mluOpNmsRotated", handle, [&](Call& call) {
    const int64_t N = dim_of(boxes_desc, 0);
    call.parameter("iou_threshold", iou_threshold);
    declare_boxes(call, boxes_desc, boxes);
    call.input("scores", scores_desc, scores, MLUOP_DTYPE_FLOAT, kAnyLayout, {N});
    call.output("output", output_desc, output, MLUOP_DTYPE_INT32, kAnyLayout, {N});
    call.output("result_num", result_num);

    check_boxes(call, boxes_desc);
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(N));
    if (N == 0) {
      *result_num = 0;
      return;
    }
    native::run(call,
                {
                    .N = N,
                    .columns = boxes_desc->dims[1],
                    .iou_threshold = iou_threshold,
                    .boxes = static_cast<const float*>(boxes),
                    .scores = static_cast<const float*>(scores),
                    .output = static_cast<int32_t*>(output),
                    .result_num = result_num,
                },
                arena);
  });
}

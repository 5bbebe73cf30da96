// mluOpOmpNms3dNormal and its workspace query: entries and checks. Continue as in nms.cpp.
#include "mlu_op_omp.h"
#include "ops/nms/nms.h"

namespace mluop::nms {
namespace {

// Declares the boxes of the operator and of its query.
Args declare_boxes(Call& call, const TensorDescriptor* desc, const void* boxes) {
  const int64_t N = dim_of(desc, 0);
  call.input("boxes", desc, boxes, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, 7});
  if (N == 0) call.reads_nothing();
  return {
      .B = 1,
      .C = 1,
      .N = N,
      .box_kind = BoxKind::kUpright,
      .dtype = MLUOP_DTYPE_FLOAT,
      .by_column = false,
      .offset = 0,
      .iou_threshold = 0,
      .confidence_threshold = 0,
      .max_output_size = N,
      .row_count = N,
      .output_mode = MLUOP_NMS_OUTPUT_TARGET_INDICES,
      .boxes = boxes,
      .confidence = nullptr,
      .output = nullptr,
      .output_size = nullptr,
  };
}

void check_arguments(Call& call, const Args& args) {
  call.check_pointers();
  require_int32_count("boxes dim 0", args.N);
  call.check_tensors();
}

}  // namespace
}  // namespace mluop::nms

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetNms3dNormalWorkspaceSize(mluOpHandle_t handle,
                                                                const mluOpTensorDescriptor_t boxes_desc,
                                                                size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::nms;
  return run_workspace_query("mluOpOmpGetNms3dNormalWorkspaceSize", handle, workspace_size, [&](Call& call) {
    const Args args = declare_boxes(call, boxes_desc, nullptr);
    check_arguments(call, args);
    return native::workspace_bytes(args);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpNms3dNormal(mluOpHandle_t handle, const float iou_threshold,
                                                const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                void* workspace, size_t workspace_size,
                                                const mluOpTensorDescriptor_t output_desc, void* output,
                                                int32_t* result_num) {
  using namespace mluop;
  using namespace mluop::nms;
  return run_operator("mluOpOmpNms3dNormal", handle, [&](Call& call) {
    call.parameter("iou_threshold", iou_threshold);
    Args args = declare_boxes(call, boxes_desc, boxes);
    args.iou_threshold = iou_threshold;
    args.output = output;
    args.output_size = result_num;
    call.output("output", output_desc, output, MLUOP_DTYPE_INT32, kAnyLayout, {args.N});
    call.output("result_num", result_num);
    check_arguments(call, args);
    native::run(call, args, call.workspace(workspace, workspace_size, native::workspace_bytes(args)));
  });
}

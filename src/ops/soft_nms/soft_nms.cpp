// mluOpOmpSoftNms and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() in soft_nms_native.cpp, and soft_nms_native_kernels.h.
#include "ops/soft_nms/soft_nms.h"

namespace mluop::soft_nms {
namespace {

// Declares the boxes of the operator and of its query.
void declare_boxes(Call& call, const TensorDescriptor* desc, const void* boxes) {
  call.input("boxes", desc, boxes, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, 4});
  if (dim_of(desc, 0) == 0) call.reads_nothing();
}

void check_scalars(int method, int offset) {
  require(method >= MLUOP_OMP_SOFT_NMS_NAIVE && method <= MLUOP_OMP_SOFT_NMS_GAUSSIAN, MLUOP_STATUS_BAD_PARAM,
          "method is ", method,
          ", expected MLUOP_OMP_SOFT_NMS_NAIVE (0), MLUOP_OMP_SOFT_NMS_LINEAR (1) or "
          "MLUOP_OMP_SOFT_NMS_GAUSSIAN (2)");
  require_flag("offset", offset);
}

}  // namespace
}  // namespace mluop::soft_nms

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetSoftNmsWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t boxes_desc,
                                                            size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::soft_nms;
  return run_workspace_query("mluOpOmpGetSoftNmsWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_boxes(call, boxes_desc, nullptr);
    call.check_pointers();
    require_int32_count("boxes dim 0", dim_of(boxes_desc, 0));
    call.check_tensors();
    return native::workspace_bytes(boxes_desc->dims[0]);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSoftNms(mluOpHandle_t handle, const mluOpOmpSoftNmsMethod_t method,
                                            const float iou_threshold, const float sigma, const float min_score,
                                            const int offset, const mluOpTensorDescriptor_t boxes_desc,
                                            const void* boxes, const mluOpTensorDescriptor_t scores_desc,
                                            const void* scores, void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t dets_desc, void* dets,
                                            const mluOpTensorDescriptor_t inds_desc, void* inds,
                                            int32_t* result_num) {
  using namespace mluop;
  using namespace mluop::soft_nms;
  return run_operator("mluOpOmpSoftNms", handle, [&](Call& call) {
    const int64_t N = dim_of(boxes_desc, 0);
    call.parameter("method", int64_t{method});
    call.parameter("iou_threshold", iou_threshold);
    call.parameter("sigma", sigma);
    call.parameter("min_score", min_score);
    call.parameter("offset", int64_t{offset});
    declare_boxes(call, boxes_desc, boxes);
    call.input("scores", scores_desc, scores, MLUOP_DTYPE_FLOAT, kAnyLayout, {N});
    call.output("dets", dets_desc, dets, MLUOP_DTYPE_FLOAT, kAnyLayout, {N, kColumns});
    call.output("inds", inds_desc, inds, MLUOP_DTYPE_INT32, kAnyLayout, {N});
    call.output("result_num", result_num);

    call.check_pointers();
    check_scalars(method, offset);
    require_int32_count("boxes dim 0", N);
    call.check_tensors();
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(N));
    if (N == 0) {
      *result_num = 0;
      return;
    }
    native::run(call,
                {
                    .N = N,
                    .method = method,
                    .iou_threshold = iou_threshold,
                    .sigma = sigma,
                    .min_score = min_score,
                    .offset = static_cast<float>(offset),
                    .boxes = static_cast<const float*>(boxes),
                    .scores = static_cast<const float*>(scores),
                    .dets = static_cast<float*>(dets),
                    .inds = static_cast<int32_t*>(inds),
                    .result_num = result_num,
                },
                arena);
  });
}

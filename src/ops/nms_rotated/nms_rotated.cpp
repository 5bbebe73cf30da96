// mluOpNmsRotated, mluOpOmpNmsQuadri, mluOpPolyNms and their workspace queries: entries and checks.
// Start with the entries at the end of this file, then run() in nms_rotated_native.cpp, and suppress() in
// primitives/geometry/suppression.cpp.
#include "ops/nms_rotated/nms_rotated.h"

#include "mlu_op.h"
#include "mlu_op_omp.h"
#include "primitives/geometry/quadrilateral.h"
#include "primitives/geometry/rotated_box.h"

namespace mluop::nms_rotated {
namespace {

// The columns of the boxes of an operator: `count`, or one more with labels, which are not read.
struct Columns {
  int64_t count;
  bool may_have_labels;
};

// Declares the boxes of an operator and of its query.
void declare_boxes(Call& call, const TensorDescriptor* desc, const void* boxes) {
  call.input("boxes", desc, boxes, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny});
  if (dim_of(desc, 0) == 0) call.reads_nothing();
}

// Checks everything except data and workspace.
void check_boxes(Call& call, const TensorDescriptor* desc, const Columns& columns) {
  call.check_pointers();
  const int64_t N = dim_of(desc, 0), found = dim_of(desc, 1);
  require_int32_count("boxes dim 0", N);
  call.check_tensors();
  // With zero boxes, the column count is unchecked.
  if (N == 0 || found == columns.count || (columns.may_have_labels && found == columns.count + 1)) return;
  throw Failure(MLUOP_STATUS_BAD_PARAM, columns.may_have_labels
                                            ? text("boxes dim 1 is ", found, ", expected ", columns.count, ", or ",
                                                   columns.count + 1, " with labels")
                                            : text("boxes dim 1 is ", found, ", expected ", columns.count));
}

template <class Box>
mluOpStatus_t query(const char* name, mluOpHandle_t handle, const Columns& columns,
                    const TensorDescriptor* boxes_desc, size_t* workspace_size) {
  return run_workspace_query(name, handle, workspace_size, [&](Call& call) {
    declare_boxes(call, boxes_desc, nullptr);
    check_boxes(call, boxes_desc, columns);
    return native::workspace_bytes<Box>(boxes_desc->dims[0]);
  });
}

struct Workspace {
  void* memory;
  size_t size;
};

// scores: of a tensor [N]; without a descriptor and data, the column after the numbers of a box.
template <class Box>
void nms(Call& call, const Columns& columns, float iou_threshold, const Input& boxes, const Input* scores,
         const Workspace& workspace, const Output& output, const char* num_name, int32_t* result_num) {
  const int64_t N = dim_of(boxes.desc, 0);
  call.parameter("iou_threshold", iou_threshold);
  declare_boxes(call, boxes.desc, boxes.data);
  if (scores != nullptr) {
    call.input("scores", scores->desc, scores->data, MLUOP_DTYPE_FLOAT, kAnyLayout, {N});
  }
  call.output("output", output.desc, output.data, MLUOP_DTYPE_INT32, kAnyLayout, {N});
  call.output(num_name, result_num);

  check_boxes(call, boxes.desc, columns);
  const Arena arena = call.workspace(workspace.memory, workspace.size, native::workspace_bytes<Box>(N));
  if (N == 0) {
    *result_num = 0;
    return;
  }
  const auto* const numbers = static_cast<const float*>(boxes.data);
  const int64_t row = boxes.desc->dims[1];
  native::run<Box>(call,
                   {
                       .N = N,
                       .columns = row,
                       .iou_threshold = iou_threshold,
                       .boxes = numbers,
                       .scores = scores != nullptr ? static_cast<const float*>(scores->data) : numbers + row - 1,
                       .score_step = scores != nullptr ? 1 : row,
                       .order = scores != nullptr ? Order::kByScore : Order::kByIndex,
                       .output = static_cast<int32_t*>(output.data),
                       .result_num = result_num,
                   },
                   arena);
}

constexpr Columns kRotated{5, true}, kQuadri{8, true}, kPolygons{9, false};

}  // namespace
}  // namespace mluop::nms_rotated

mluOpStatus_t MLUOP_WIN_API mluOpGetNmsRotatedWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t boxes_desc,
                                                            size_t* workspace_size) {
  using namespace mluop::nms_rotated;
  return query<mluop::RotatedBox>("mluOpGetNmsRotatedWorkspaceSize", handle, kRotated, boxes_desc, workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpNmsRotated(mluOpHandle_t handle, const float iou_threshold,
                                            const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                            const mluOpTensorDescriptor_t scores_desc, const void* scores,
                                            void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t output_desc, void* output,
                                            int32_t* result_num) {
  using namespace mluop;
  return run_operator("mluOpNmsRotated", handle, [&](Call& call) {
    const Input of_scores{scores_desc, scores};
    nms_rotated::nms<RotatedBox>(call, nms_rotated::kRotated, iou_threshold, {boxes_desc, boxes}, &of_scores,
                                 {workspace, workspace_size}, {output_desc, output}, "result_num", result_num);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetNmsQuadriWorkspaceSize(mluOpHandle_t handle,
                                                              const mluOpTensorDescriptor_t boxes_desc,
                                                              size_t* workspace_size) {
  using namespace mluop::nms_rotated;
  return query<mluop::Quadrilateral>("mluOpOmpGetNmsQuadriWorkspaceSize", handle, kQuadri, boxes_desc,
                                     workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpNmsQuadri(mluOpHandle_t handle, const float iou_threshold,
                                              const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                              const mluOpTensorDescriptor_t scores_desc, const void* scores,
                                              void* workspace, size_t workspace_size,
                                              const mluOpTensorDescriptor_t output_desc, void* output,
                                              int32_t* result_num) {
  using namespace mluop;
  return run_operator("mluOpOmpNmsQuadri", handle, [&](Call& call) {
    const Input of_scores{scores_desc, scores};
    nms_rotated::nms<Quadrilateral>(call, nms_rotated::kQuadri, iou_threshold, {boxes_desc, boxes}, &of_scores,
                                    {workspace, workspace_size}, {output_desc, output}, "result_num", result_num);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetPolyNmsWorkspaceSize(mluOpHandle_t handle,
                                                         const mluOpTensorDescriptor_t boxes_desc, size_t* size) {
  using namespace mluop::nms_rotated;
  return query<mluop::Quadrilateral>("mluOpGetPolyNmsWorkspaceSize", handle, kPolygons, boxes_desc, size);
}

mluOpStatus_t MLUOP_WIN_API mluOpPolyNms(mluOpHandle_t handle, const mluOpTensorDescriptor_t boxes_desc,
                                         const void* boxes, const float iou_threshold, void* workspace,
                                         size_t workspace_size, const mluOpTensorDescriptor_t output_desc,
                                         void* output, void* output_size) {
  using namespace mluop;
  return run_operator("mluOpPolyNms", handle, [&](Call& call) {
    nms_rotated::nms<Quadrilateral>(call, nms_rotated::kPolygons, iou_threshold, {boxes_desc, boxes}, nullptr,
                                    {workspace, workspace_size}, {output_desc, output}, "output_size",
                                    static_cast<int32_t*>(output_size));
  });
}

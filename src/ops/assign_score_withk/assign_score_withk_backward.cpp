// mluOpOmpAssignScoreWithkBackward: entry and checks.
// Start with the entry below, then run_backward() in assign_score_withk_native.cpp; the kernels: differentiate()
// and accumulate() in assign_score_withk_backward_native_kernels.cpp, which follow their helpers.
#include "mlu_op_omp.h"
#include "ops/assign_score_withk/assign_score_withk.h"
#include "ops/assign_score_withk/assign_score_withk_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpAssignScoreWithkBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t points_desc, const void* points, const mluOpTensorDescriptor_t centers_desc,
    const void* centers, const mluOpTensorDescriptor_t scores_desc, const void* scores,
    const mluOpTensorDescriptor_t knn_idx_desc, const void* knn_idx,
    const mluOpTensorDescriptor_t grad_points_desc, void* grad_points,
    const mluOpTensorDescriptor_t grad_centers_desc, void* grad_centers,
    const mluOpTensorDescriptor_t grad_scores_desc, void* grad_scores) {
  using namespace mluop;
  return run_operator("mluOpOmpAssignScoreWithkBackward", handle, [&](Call& call) {
    const assign_score_withk::PassedInputs inputs{
        {points_desc, points}, {centers_desc, centers}, {scores_desc, scores}, {knn_idx_desc, knn_idx}};
    const assign_score_withk::Sizes sizes = assign_score_withk::sizes_of(inputs);
    const auto [B, N0, N1, M, K, O] = sizes;
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(points_desc);
    call.input("grad_output", grad_output_desc, grad_output, dtype, array, {B, O, N1, K});
    declare(call, inputs, sizes);
    call.output("grad_points", grad_points_desc, grad_points, dtype, array, {B, N0, M, O});
    call.output("grad_centers", grad_centers_desc, grad_centers, dtype, array, {B, N0, M, O});
    call.output("grad_scores", grad_scores_desc, grad_scores, dtype, array, {B, N1, K, M});
    const bool is_empty = has_no_elements(grad_points_desc) && has_no_elements(grad_scores_desc);
    if (is_empty) call.reads_nothing();
    check(call, inputs, sizes);
    if (is_empty) return;
    assign_score_withk::native::run_backward(
        call, {checked_inputs(inputs, sizes), grad_output, grad_points, grad_centers, grad_scores});
  });
}

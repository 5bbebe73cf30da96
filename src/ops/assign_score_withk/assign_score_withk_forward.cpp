// mluOpOmpAssignScoreWithkForward: entry and checks.
// Start with the entry below, then run_forward() in assign_score_withk_native.cpp; the kernel: assemble() in
// assign_score_withk_forward_native_kernels.cpp, which follows its helpers.
#include "mlu_op_omp.h"
#include "ops/assign_score_withk/assign_score_withk.h"
#include "ops/assign_score_withk/assign_score_withk_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpAssignScoreWithkForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc, const void* points,
    const mluOpTensorDescriptor_t centers_desc, const void* centers, const mluOpTensorDescriptor_t scores_desc,
    const void* scores, const mluOpTensorDescriptor_t knn_idx_desc, const void* knn_idx,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpOmpAssignScoreWithkForward", handle, [&](Call& call) {
    const assign_score_withk::PassedInputs inputs{
        {points_desc, points}, {centers_desc, centers}, {scores_desc, scores}, {knn_idx_desc, knn_idx}};
    const assign_score_withk::Sizes sizes = assign_score_withk::sizes_of(inputs);
    declare(call, inputs, sizes);
    call.output("output", output_desc, output, dtype_of(points_desc), MLUOP_LAYOUT_ARRAY,
                {sizes.B, sizes.O, sizes.N1, sizes.K});
    const bool is_empty = has_no_elements(output_desc);
    if (is_empty) call.reads_nothing();
    check(call, inputs, sizes);
    if (is_empty) return;
    assign_score_withk::native::run_forward(call, {checked_inputs(inputs, sizes), output});
  });
}

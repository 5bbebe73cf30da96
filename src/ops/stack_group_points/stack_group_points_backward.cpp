// mluOpOmpStackGroupPointsBackward: entry and checks.
// Start with the entry below, then run_backward() in stack_group_points_native.cpp; the kernel: sum() in
// stack_group_points_backward_native_kernels.cpp, which follows its helpers and uses the helpers of
// primitives/simd/channel_strip-inl.h.
#include "mlu_op_omp.h"
#include "ops/stack_group_points/stack_group_points.h"
#include "primitives/indices/cloud_counts.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpStackGroupPointsBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t indices_batch_cnt_desc, const void* indices_batch_cnt,
    const mluOpTensorDescriptor_t features_batch_cnt_desc, const void* features_batch_cnt,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  return run_operator("mluOpOmpStackGroupPointsBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(grad_output_desc);
    const int64_t M = dim_of(grad_output_desc, 0), C = dim_of(grad_output_desc, 1),
                  S = dim_of(grad_output_desc, 2), N = dim_of(grad_features_desc, 0),
                  B = dim_of(indices_batch_cnt_desc, 0);
    call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny, kAny});
    call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {M, S});
    call.input("indices_batch_cnt", indices_batch_cnt_desc, indices_batch_cnt, MLUOP_DTYPE_INT32, array, {kAny});
    call.input("features_batch_cnt", features_batch_cnt_desc, features_batch_cnt, MLUOP_DTYPE_INT32, array, {B});
    call.output("grad_features", grad_features_desc, grad_features, dtype, array, {kAny, C});
    const bool is_empty = has_no_elements(grad_features_desc);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("grad_output", dtype);
    call.check_tensors();
    if (!has_no_elements(grad_output_desc)) require_positive("grad_features dim 0", N);
    if (is_empty) return;
    const CloudIndices groups{B, S, static_cast<const int32_t*>(features_batch_cnt),
                              static_cast<const int32_t*>(indices_batch_cnt),
                              static_cast<const int32_t*>(indices)};
    check_cloud_counts("indices_batch_cnt", groups.group_counts, B, "grad_output", M);
    check_cloud_counts("features_batch_cnt", groups.feature_counts, B, "grad_features", N);

    stack_group_points::native::run_backward(call, {{M, N, C, dtype, groups}, grad_output, grad_features});
  });
}

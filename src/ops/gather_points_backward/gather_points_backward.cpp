// mluOpOmpGatherPointsBackward: entry and checks.
// Start with the entry below, then run() and make_plan() in gather_points_backward_native.cpp; the kernel: sum() in
// gather_points_backward_native_kernels.cpp, which follows its helpers and uses those of
// primitives/channel_strip-inl.h.
#include "mlu_op_omp.h"
#include "ops/gather_points_backward/gather_points_backward_native.h"
#include "primitives/point_indices.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpGatherPointsBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  return run_operator("mluOpOmpGatherPointsBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(grad_output_desc);
    const int64_t B = dim_of(grad_output_desc, 0), C = dim_of(grad_output_desc, 1);
    if (has_samples(indices_desc, grad_output_desc)) {
      call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny, kAny, kAny});
      call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array,
                 {B, dim_of(grad_output_desc, 2), dim_of(grad_output_desc, 3)});
    } else {
      call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny, kAny});
      call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {B, dim_of(grad_output_desc, 2)});
    }
    call.output("grad_features", grad_features_desc, grad_features, dtype, array, {B, C, kAny});
    const bool is_empty = has_no_elements(grad_features_desc);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_float_or_half("grad_output", dtype);
    call.check_tensors();
    const int64_t N = dim_of(grad_features_desc, 2);
    require(N > 0 || has_no_elements(grad_output_desc), MLUOP_STATUS_BAD_PARAM,
            "grad_features dim 2 is 0, expected at least 1");
    if (is_empty) return;

    gather_points_backward::native::run(call, {
                                                  .B = B,
                                                  .C = C,
                                                  .M = element_count(*indices_desc) / B,
                                                  .N = N,
                                                  .dtype = dtype,
                                                  .indices_shape = indices_desc->shape(),
                                                  .grad_output = grad_output,
                                                  .indices = static_cast<const int32_t*>(indices),
                                                  .grad_features = grad_features,
                                              });
  });
}

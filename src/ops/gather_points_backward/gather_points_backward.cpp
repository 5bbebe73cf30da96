// mluOpOmpGatherPointsBackward: entry and checks.
// Start with the entry at the end of this file, then run() and make_plan() in gather_points_backward_native.cpp;
// the kernel: sum() in gather_points_backward_native_kernels.cpp, which follows its helpers and uses the helpers
// of primitives/simd/channel_strip-inl.h.
#include "ops/gather_points_backward/gather_points_backward.h"
#include "mlu_op_omp.h"
#include "primitives/indices/point_indices.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpGatherPointsBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  return run_operator("mluOpOmpGatherPointsBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(grad_output_desc);
    const auto dim = [&](int i) { return dim_of(grad_output_desc, i); };
    if (has_samples(indices_desc, grad_output_desc)) {
      call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny, kAny, kAny});
      call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {dim(0), dim(2), dim(3)});
    } else {
      call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny, kAny});
      call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {dim(0), dim(2)});
    }
    call.output("grad_features", grad_features_desc, grad_features, dtype, array, {dim(0), dim(1), kAny});
    if (has_no_elements(grad_features_desc)) call.reads_nothing();
    call.check_pointers();
    require_element_type("grad_output", dtype);
    call.check_tensors();
    const int64_t B = dim(0), N = dim_of(grad_features_desc, 2);
    if (!has_no_elements(grad_output_desc)) require_positive("grad_features dim 2", N);
    if (has_no_elements(grad_features_desc)) return;

    gather_points_backward::native::run(call, {
                                                  .B = B,
                                                  .C = dim(1),
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

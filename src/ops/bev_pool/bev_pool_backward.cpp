// mluOpOmpBevPoolBackward: entry and checks.
// Start with the entry below, then run_backward() in bev_pool_native.cpp; the kernels are in
// bev_pool_native_kernels.cpp.
#include "mlu_op_omp.h"
#include "ops/bev_pool/bev_pool.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpBevPoolBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t depth_desc, const void* depth, const mluOpTensorDescriptor_t features_desc,
    const void* features, const mluOpTensorDescriptor_t ranks_depth_desc, const void* ranks_depth,
    const mluOpTensorDescriptor_t ranks_feat_desc, const void* ranks_feat,
    const mluOpTensorDescriptor_t ranks_bev_desc, const void* ranks_bev,
    const mluOpTensorDescriptor_t grad_depth_desc, void* grad_depth,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  return run_operator("mluOpOmpBevPoolBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(grad_output_desc);
    const int64_t P = dim_of(ranks_depth_desc, 0), D = dim_of(depth_desc, 0), F = dim_of(features_desc, 0),
                  M = dim_of(grad_output_desc, 0), C = dim_of(grad_output_desc, 1);
    call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny});
    call.input("depth", depth_desc, depth, dtype, array, {kAny});
    call.input("features", features_desc, features, dtype, array, {kAny, C});
    call.input("ranks_depth", ranks_depth_desc, ranks_depth, MLUOP_DTYPE_INT32, array, {kAny});
    call.input("ranks_feat", ranks_feat_desc, ranks_feat, MLUOP_DTYPE_INT32, array, {P});
    call.input("ranks_bev", ranks_bev_desc, ranks_bev, MLUOP_DTYPE_INT32, array, {P});
    call.output("grad_depth", grad_depth_desc, grad_depth, dtype, array, {D});
    call.output("grad_features", grad_features_desc, grad_features, dtype, array, {F, C});
    const bool is_empty = D == 0 && F * C == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("grad_output", dtype);
    bev_pool::check_counts(P, F, "grad_output", M);
    call.check_tensors();
    if (is_empty) return;
    bev_pool::native::run_backward(
        call, {{P, D, F, M, C, dtype, static_cast<const int32_t*>(ranks_depth),
                static_cast<const int32_t*>(ranks_feat), static_cast<const int32_t*>(ranks_bev), depth},
               grad_output,
               features,
               grad_depth,
               grad_features});
  });
}

// mluOpOmpBevPoolForward: entry and checks.
// Start with the entry below, then run_forward() in bev_pool_native.cpp; the kernels: count_points() and
// sort_points() in bev_pool_native_kernels.cpp, then primitives/sort/bucket_sums.h.
#include "mlu_op_omp.h"
#include "ops/bev_pool/bev_pool.h"

mluOpStatus_t MLUOP_WIN_API
mluOpOmpBevPoolForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t depth_desc, const void* depth,
                       const mluOpTensorDescriptor_t features_desc, const void* features,
                       const mluOpTensorDescriptor_t ranks_depth_desc, const void* ranks_depth,
                       const mluOpTensorDescriptor_t ranks_feat_desc, const void* ranks_feat,
                       const mluOpTensorDescriptor_t ranks_bev_desc, const void* ranks_bev,
                       const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpOmpBevPoolForward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(depth_desc);
    const int64_t P = dim_of(ranks_depth_desc, 0), F = dim_of(features_desc, 0), C = dim_of(features_desc, 1),
                  M = dim_of(output_desc, 0);
    call.input("depth", depth_desc, depth, dtype, array, {kAny});
    call.input("features", features_desc, features, dtype, array, {kAny, kAny});
    call.input("ranks_depth", ranks_depth_desc, ranks_depth, MLUOP_DTYPE_INT32, array, {kAny});
    call.input("ranks_feat", ranks_feat_desc, ranks_feat, MLUOP_DTYPE_INT32, array, {P});
    call.input("ranks_bev", ranks_bev_desc, ranks_bev, MLUOP_DTYPE_INT32, array, {P});
    call.output("output", output_desc, output, dtype, array, {kAny, C});
    const bool is_empty = M * C == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("depth", dtype);
    bev_pool::check_counts(P, F, "output", M);
    call.check_tensors();
    if (is_empty) return;
    bev_pool::native::run_forward(
        call, {{P, dim_of(depth_desc, 0), F, M, C, dtype, static_cast<const int32_t*>(ranks_depth),
                static_cast<const int32_t*>(ranks_feat), static_cast<const int32_t*>(ranks_bev), depth},
               features,
               output});
  });
}

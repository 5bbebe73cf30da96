// mluOpOmpStackGroupPointsForward: entry and checks.
// Start with the entry below, then run_forward() in stack_group_points_native.cpp; the kernel: group() in
// stack_group_points_forward_native_kernels.cpp, which follows its helpers.
#include "mlu_op_omp.h"
#include "ops/stack_group_points/stack_group_points.h"
#include "primitives/indices/cloud_counts.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpStackGroupPointsForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t features_batch_cnt_desc, const void* features_batch_cnt,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t indices_batch_cnt_desc, const void* indices_batch_cnt,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpOmpStackGroupPointsForward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(features_desc);
    const int64_t N = dim_of(features_desc, 0), C = dim_of(features_desc, 1), M = dim_of(indices_desc, 0),
                  S = dim_of(indices_desc, 1), B = dim_of(features_batch_cnt_desc, 0);
    call.input("features", features_desc, features, dtype, array, {kAny, kAny});
    call.input("features_batch_cnt", features_batch_cnt_desc, features_batch_cnt, MLUOP_DTYPE_INT32, array,
               {kAny});
    call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {kAny, kAny});
    call.input("indices_batch_cnt", indices_batch_cnt_desc, indices_batch_cnt, MLUOP_DTYPE_INT32, array, {B});
    call.output("output", output_desc, output, dtype, array, {M, C, S});
    const bool is_empty = has_no_elements(output_desc);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("features", dtype);
    call.check_tensors();
    if (is_empty) return;
    const CloudIndices groups{B, S, static_cast<const int32_t*>(features_batch_cnt),
                              static_cast<const int32_t*>(indices_batch_cnt),
                              static_cast<const int32_t*>(indices)};
    check_cloud_counts("features_batch_cnt", groups.feature_counts, B, "features", N);
    check_cloud_counts("indices_batch_cnt", groups.group_counts, B, "indices", M);

    stack_group_points::native::run_forward(call, {{M, N, C, dtype, groups}, features, output});
  });
}

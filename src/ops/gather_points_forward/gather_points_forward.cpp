// mluOpOmpGatherPointsForward: entry and checks.
// Start with the entry below, then run() and make_plan() in gather_points_forward_native.cpp; the kernels:
// packed() and direct() in gather_points_forward_native_kernels.cpp, which follow their helpers.
#include "ops/gather_points_forward/gather_points_forward.h"
#include "mlu_op_omp.h"
#include "primitives/indices/point_indices.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpGatherPointsForward(mluOpHandle_t handle,
                                                        const mluOpTensorDescriptor_t features_desc,
                                                        const void* features,
                                                        const mluOpTensorDescriptor_t indices_desc,
                                                        const void* indices,
                                                        const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpOmpGatherPointsForward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(features_desc);
    const int64_t B = dim_of(features_desc, 0), C = dim_of(features_desc, 1), N = dim_of(features_desc, 2);
    call.input("features", features_desc, features, dtype, array, {kAny, kAny, kAny});
    if (has_samples(indices_desc, output_desc)) {
      call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {B, kAny, kAny});
      call.output("output", output_desc, output, dtype, array,
                  {B, C, dim_of(indices_desc, 1), dim_of(indices_desc, 2)});
    } else {
      call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {B, kAny});
      call.output("output", output_desc, output, dtype, array, {B, C, dim_of(indices_desc, 1)});
    }
    const bool is_empty = has_no_elements(output_desc);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    require_element_type("features", dtype);
    call.check_tensors();
    if (is_empty) return;
    require_positive("features dim 2", N);

    gather_points_forward::native::run(call, {
                                                 .B = B,
                                                 .C = C,
                                                 .N = N,
                                                 .M = element_count(*indices_desc) / B,
                                                 .dtype = dtype,
                                                 .indices_shape = indices_desc->shape(),
                                                 .features = features,
                                                 .indices = static_cast<const int32_t*>(indices),
                                                 .output = output,
                                             });
  });
}

// mluOpSqrt and mluOpSqrtBackward.
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/elementwise/elementwise.h"

mluOpStatus_t MLUOP_WIN_API mluOpSqrt(mluOpHandle_t handle, const mluOpComputationPreference_t prefer,
                                      const mluOpTensorDescriptor_t x_desc, const void* x,
                                      const mluOpTensorDescriptor_t y_desc, void* y) {
  using namespace mluop;
  return run_operator("mluOpSqrt", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(x_desc);
    const bool is_int32 = dtype == MLUOP_DTYPE_INT32;
    const elementwise::Unary unary{
        {x_desc, x}, {y_desc, y}, is_int32 ? MLUOP_DTYPE_FLOAT : dtype, Strides::kDense};
    call.parameter("prefer", int64_t{prefer});
    elementwise::declare_unary(call, unary);
    call.check_pointers();
    require(prefer == MLUOP_COMPUTATION_FAST || prefer == MLUOP_COMPUTATION_HIGH_PRECISION, MLUOP_STATUS_BAD_PARAM,
            "prefer is ", static_cast<int>(prefer),
            ", expected MLUOP_COMPUTATION_FAST (0) or MLUOP_COMPUTATION_HIGH_PRECISION (1)");
    require_element_type("x", dtype, {MLUOP_DTYPE_INT32});
    if (!elementwise::check_unary(call, unary)) return;
    elementwise::run(call, {elementwise::sqrt_map(dtype)}, unary.x, {}, unary.y);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSqrtBackward(mluOpHandle_t handle, const mluOpTensorDescriptor_t y_desc,
                                              const void* y, const mluOpTensorDescriptor_t dy_desc,
                                              const void* diff_y, const mluOpTensorDescriptor_t dx_desc,
                                              void* diff_x) {
  using namespace mluop;
  return run_operator("mluOpSqrtBackward", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(y_desc);
    call.input("y", y_desc, y);
    call.input_like("diff_y", {dy_desc, diff_y}, y_desc, dtype, kAnyLayout);
    call.output_like("diff_x", {dx_desc, diff_x}, y_desc, dtype, kAnyLayout);
    call.allow_strides(Strides::kDense);
    call.allow_in_place(InPlace::kSameTensor);
    if (has_no_elements(y_desc)) call.reads_nothing();
    call.check_pointers();
    require_element_type("y", dtype);
    elementwise::require_dimensions("y", y_desc);
    call.check_tensors();
    if (has_no_elements(y_desc)) return;
    elementwise::run(call, {elementwise::sqrt_backward_map(dtype)}, {y_desc, y}, {dy_desc, diff_y},
                     {dx_desc, diff_x});
  });
}

// mluOpMsDeformAttnBackward: entry.
// Start with the entry below, then its rules in ms_deform_attn_rules.h, run_backward() in
// ms_deform_attn_native.cpp, and differentiate() and scatter() in ms_deform_attn_native_kernels.cpp.
#include "ops/ms_deform_attn/ms_deform_attn.h"
#include "ops/ms_deform_attn/ms_deform_attn_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpMsDeformAttnBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t value_desc, const void* value,
    const mluOpTensorDescriptor_t spatial_shapes_desc, const void* spatial_shapes,
    const mluOpTensorDescriptor_t level_start_index_desc, const void* level_start_index,
    const mluOpTensorDescriptor_t sampling_loc_desc, const void* sampling_loc,
    const mluOpTensorDescriptor_t attn_weight_desc, const void* attn_weight,
    const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output, const int32_t im2col_step,
    const mluOpTensorDescriptor_t grad_value_desc, void* grad_value,
    const mluOpTensorDescriptor_t grad_sampling_loc_desc, void* grad_sampling_loc,
    const mluOpTensorDescriptor_t grad_attn_weight_desc, void* grad_attn_weight) {
  using namespace mluop;
  return run_operator("mluOpMsDeformAttnBackward", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    const ms_deform_attn::PassedInputs inputs{{"value", {value_desc, value}},
                                              {"spatial_shapes", {spatial_shapes_desc, spatial_shapes}},
                                              {"level_start_index", {level_start_index_desc, level_start_index}},
                                              {"sampling_loc", {sampling_loc_desc, sampling_loc}},
                                              {"attn_weight", {attn_weight_desc, attn_weight}}};
    const ms_deform_attn::Sizes s = ms_deform_attn::sizes_of(inputs);
    declare(call, inputs, s, im2col_step);
    call.input("grad_output", grad_output_desc, grad_output, kFloat, kAnyLayout, {s.B, s.Q, s.M, s.D});
    call.output("grad_value", grad_value_desc, grad_value, kFloat, kAnyLayout, {s.B, s.K, s.M, s.D});
    call.output("grad_sampling_loc", grad_sampling_loc_desc, grad_sampling_loc, kFloat, kAnyLayout,
                {s.B, s.Q, s.M, s.L, s.P, 2});
    call.output("grad_attn_weight", grad_attn_weight_desc, grad_attn_weight, kFloat, kAnyLayout,
                {s.B, s.Q, s.M, s.L, s.P});
    check(call, inputs, s, im2col_step);
    ms_deform_attn::native::run_backward(
        call, {checked_inputs(inputs, s), static_cast<const float*>(grad_output), static_cast<float*>(grad_value),
               static_cast<float*>(grad_sampling_loc), static_cast<float*>(grad_attn_weight)});
  });
}

// mluOpMsDeformAttnForward: entry.
// Start with the entry below, then its rules in ms_deform_attn_rules.h, run_forward() in
// ms_deform_attn_native.cpp, and attend() in ms_deform_attn_native_kernels.cpp.
#include "ops/ms_deform_attn/ms_deform_attn.h"
#include "ops/ms_deform_attn/ms_deform_attn_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpMsDeformAttnForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t data_value_desc, const void* data_value,
    const mluOpTensorDescriptor_t data_spatial_shapes_desc, const void* data_spatial_shapes,
    const mluOpTensorDescriptor_t data_level_start_index_desc, const void* data_level_start_index,
    const mluOpTensorDescriptor_t data_sampling_loc_desc, const void* data_sampling_loc,
    const mluOpTensorDescriptor_t data_attn_weight_desc, const void* data_attn_weight, const int im2col_step,
    const mluOpTensorDescriptor_t data_col_desc, void* data_col) {
  using namespace mluop;
  return run_operator("mluOpMsDeformAttnForward", handle, [&](Call& call) {
    const ms_deform_attn::PassedInputs inputs{
        {"data_value", {data_value_desc, data_value}},
        {"data_spatial_shapes", {data_spatial_shapes_desc, data_spatial_shapes}},
        {"data_level_start_index", {data_level_start_index_desc, data_level_start_index}},
        {"data_sampling_loc", {data_sampling_loc_desc, data_sampling_loc}},
        {"data_attn_weight", {data_attn_weight_desc, data_attn_weight}}};
    const ms_deform_attn::Sizes s = ms_deform_attn::sizes_of(inputs);
    declare(call, inputs, s, im2col_step);
    call.output("data_col", data_col_desc, data_col, MLUOP_DTYPE_FLOAT, kAnyLayout, {s.B, s.Q, s.M, s.D});
    check(call, inputs, s, im2col_step);
    ms_deform_attn::native::run_forward(call, {checked_inputs(inputs, s), static_cast<float*>(data_col)});
  });
}

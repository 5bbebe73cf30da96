// mluOpDCNBackwardData and its workspace query: entries and checks.
// Start with check_backward_data() and the rules shared by all three operators in dcn_rules.cpp; then read run()
// in dcn_backward_data_native.cpp. Its kernels: pack(), scatter() and combine() in
// dcn_backward_data_native_kernels.cpp.
#include "ops/dcn/dcn.h"
#include "ops/dcn/dcn_rules.h"

namespace mluop::dcn {
namespace {

// The tensors of the operator; without data in the query.
struct Tensors {
  Input input, offset, mask, filter, grad_output;
  Output grad_input, grad_offset, grad_mask;
};

// Declares and checks the arguments shared by the operator and its query.
BackwardDataArgs check_backward_data(Call& call, const DcnDescriptor* dcn_desc, const Tensors& tensors) {
  constexpr auto kNhwc = MLUOP_LAYOUT_NHWC;
  const auto& [input, offset, mask, filter, grad_output, grad_input, grad_offset, grad_mask] = tensors;
  const auto dtype = dtype_of(input.desc);
  const Shapes shapes{input.desc, filter.desc, "filter"};
  declare_convolution(call, dcn_desc);
  const Sizes sizes = sizes_of(*dcn_desc, shapes);
  const int64_t N = sizes.N, Ho = sizes.Ho, Wo = sizes.Wo, samples = sample_count(sizes);
  const Args args = declare_samples(call, sizes, input, offset, mask);
  call.input("filter", filter.desc, filter.data, dtype, kNhwc, {kAny, kAny, kAny, sizes.group_inputs()});
  call.input("grad_output", grad_output.desc, grad_output.data, dtype, kNhwc, {N, Ho, Wo, sizes.Co});
  call.output("grad_input", grad_input.desc, grad_input.data, dtype, kNhwc, {N, sizes.H, sizes.W, sizes.Ci});
  call.output("grad_offset", grad_offset.desc, grad_offset.data, dtype, kNhwc, {N, Ho, Wo, offset_count(sizes)});
  const bool has_mask = !mask.is_missing();
  if (has_mask) call.output("grad_mask", grad_mask.desc, grad_mask.data, dtype, kNhwc, {N, Ho, Wo, samples});
  check(call, *dcn_desc, sizes, shapes);
  if (!has_mask) require_missing("grad_mask", grad_mask, "without mask");
  return {
      args, filter.data, grad_output.data, grad_input.data, grad_offset.data, has_mask ? grad_mask.data : nullptr};
}

}  // namespace
}  // namespace mluop::dcn

mluOpStatus_t MLUOP_WIN_API mluOpGetDCNBakcwardDataWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const mluOpTensorDescriptor_t offset_desc, const mluOpTensorDescriptor_t mask_desc,
    const mluOpTensorDescriptor_t filter_desc, const mluOpTensorDescriptor_t grad_output_desc,
    const mluOpTensorDescriptor_t grad_input_desc, const mluOpTensorDescriptor_t grad_offset_desc,
    const mluOpTensorDescriptor_t grad_mask_desc, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::dcn;
  return run_workspace_query("mluOpGetDCNBakcwardDataWorkspaceSize", handle, workspace_size, [&](Call& call) {
    return backward_data::workspace_bytes(check_backward_data(call, dcn_desc,
                                                              {{input_desc},
                                                               {offset_desc},
                                                               {mask_desc},
                                                               {filter_desc},
                                                               {grad_output_desc},
                                                               {grad_input_desc},
                                                               {grad_offset_desc},
                                                               {grad_mask_desc}}));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardData(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const void* input, const mluOpTensorDescriptor_t offset_desc, const void* offset,
    const mluOpTensorDescriptor_t mask_desc, const void* mask, const mluOpTensorDescriptor_t filter_desc,
    const void* filter, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void* grad_offset,
    const mluOpTensorDescriptor_t grad_mask_desc, void* grad_mask) {
  using namespace mluop;
  using namespace mluop::dcn;
  return run_operator("mluOpDCNBackwardData", handle, [&](Call& call) {
    const BackwardDataArgs args = check_backward_data(call, dcn_desc,
                                                      {{input_desc, input},
                                                       {offset_desc, offset},
                                                       {mask_desc, mask},
                                                       {filter_desc, filter},
                                                       {grad_output_desc, grad_output},
                                                       {grad_input_desc, grad_input},
                                                       {grad_offset_desc, grad_offset},
                                                       {grad_mask_desc, grad_mask}});
    const Arena arena = call.workspace(workspace, workspace_size, backward_data::workspace_bytes(args));
    backward_data::run(call, args, arena);
  });
}

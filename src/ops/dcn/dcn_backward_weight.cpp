// mluOpDCNBackwardWeight and its workspace query: entries and checks.
// Start with check_backward_weight() and the rules shared by all three operators in dcn_rules.cpp; then read run()
// in dcn_backward_weight_native.cpp. Its kernels: multiply(), combine() and add_bias() in
// dcn_backward_weight_native_kernels.cpp.
#include "ops/dcn/dcn.h"
#include "ops/dcn/dcn_rules.h"

namespace mluop::dcn {
namespace {

// Declares and checks the arguments shared by the operator and its query.
BackwardWeightArgs check_backward_weight(Call& call, const DcnDescriptor* dcn_desc, const Input& input,
                                         const Input& offset, const Input& mask, const Input& grad_output,
                                         const Output& grad_filter, const Output& grad_bias) {
  constexpr auto kNhwc = MLUOP_LAYOUT_NHWC;
  const auto dtype = dtype_of(input.desc);
  const Shapes shapes{input.desc, grad_filter.desc, "grad_filter"};
  declare_convolution(call, dcn_desc);
  const Sizes sizes = sizes_of(*dcn_desc, shapes);
  const Args args = declare_samples(call, sizes, input, offset, mask);
  call.input("grad_output", grad_output.desc, grad_output.data, dtype, kNhwc,
             {sizes.N, sizes.Ho, sizes.Wo, sizes.Co});
  call.output("grad_filter", grad_filter.desc, grad_filter.data, dtype, kNhwc,
              {kAny, kAny, kAny, sizes.group_inputs()});
  void* const grad_biases = call.optional_output("grad_bias", grad_bias, dtype, kAnyLayout, {sizes.Co});
  check(call, *dcn_desc, sizes, shapes);
  return {args, grad_output.data, grad_filter.data, grad_biases};
}

}  // namespace
}  // namespace mluop::dcn

mluOpStatus_t MLUOP_WIN_API mluOpGetDCNBackwardWeightWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const mluOpTensorDescriptor_t offset_desc, const mluOpTensorDescriptor_t mask_desc,
    const mluOpTensorDescriptor_t grad_output_desc, const mluOpTensorDescriptor_t grad_filter_desc,
    const mluOpTensorDescriptor_t grad_bias_desc, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::dcn;
  return run_workspace_query("mluOpGetDCNBackwardWeightWorkspaceSize", handle, workspace_size, [&](Call& call) {
    return backward_weight::workspace_bytes(check_backward_weight(call, dcn_desc, {input_desc}, {offset_desc},
                                                                  {mask_desc}, {grad_output_desc},
                                                                  {grad_filter_desc}, {grad_bias_desc}));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardWeight(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                                                   const mluOpTensorDescriptor_t input_desc, const void* input,
                                                   const mluOpTensorDescriptor_t offset_desc, const void* offset,
                                                   const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                                   const mluOpTensorDescriptor_t grad_output_desc,
                                                   const void* grad_output, void* workspace, size_t workspace_size,
                                                   const mluOpTensorDescriptor_t grad_filter_desc,
                                                   void* grad_filter, const mluOpTensorDescriptor_t grad_bias_desc,
                                                   void* grad_bias) {
  using namespace mluop;
  using namespace mluop::dcn;
  return run_operator("mluOpDCNBackwardWeight", handle, [&](Call& call) {
    const BackwardWeightArgs args = check_backward_weight(
        call, dcn_desc, {input_desc, input}, {offset_desc, offset}, {mask_desc, mask},
        {grad_output_desc, grad_output}, {grad_filter_desc, grad_filter}, {grad_bias_desc, grad_bias});
    const Arena arena = call.workspace(workspace, workspace_size, backward_weight::workspace_bytes(args));
    backward_weight::run(call, args, arena);
  });
}

// mluOpDCNForward and its workspace query: entries and checks.
// Start with check_forward() and the rules shared by all three operators in dcn_rules.cpp; then read run() in
// dcn_forward_native.cpp. Its kernels: pack() and convolve() in dcn_forward_native_kernels.cpp, which find the
// samples in samples-inl.h and interpolate them in columns-inl.h.
#include "ops/dcn/dcn.h"
#include "ops/dcn/dcn_rules.h"

namespace mluop::dcn {
namespace {

// Declares and checks the arguments shared by the operator and its query.
ForwardArgs check_forward(Call& call, const DcnDescriptor* dcn_desc, const Input& input, const Input& offset,
                          const Input& mask, const Input& filter, const Input& bias, const Output& output) {
  constexpr auto kNhwc = MLUOP_LAYOUT_NHWC;
  const auto dtype = dtype_of(input.desc);
  const Shapes shapes{input.desc, filter.desc, "filter"};
  declare_convolution(call, dcn_desc);
  const Sizes sizes = sizes_of(*dcn_desc, shapes);
  const Args args = declare_samples(call, sizes, input, offset, mask);
  call.input("filter", filter.desc, filter.data, dtype, kNhwc, {kAny, kAny, kAny, sizes.group_inputs()});
  const void* const biases = call.optional_input("bias", bias, dtype, kAnyLayout, {sizes.Co});
  call.output("output", output.desc, output.data, dtype, kNhwc, {sizes.N, sizes.Ho, sizes.Wo, sizes.Co});
  check(call, *dcn_desc, sizes, shapes);
  return {args, filter.data, biases, output.data};
}

}  // namespace
}  // namespace mluop::dcn

mluOpStatus_t MLUOP_WIN_API mluOpGetDCNForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const mluOpTensorDescriptor_t offset_desc, const mluOpTensorDescriptor_t mask_desc,
    const mluOpTensorDescriptor_t filter_desc, const mluOpTensorDescriptor_t bias_desc,
    const mluOpTensorDescriptor_t output_desc, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::dcn;
  return run_workspace_query("mluOpGetDCNForwardWorkspaceSize", handle, workspace_size, [&](Call& call) {
    return forward::workspace_bytes(check_forward(call, dcn_desc, {input_desc}, {offset_desc}, {mask_desc},
                                                  {filter_desc}, {bias_desc}, {output_desc}));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDCNForward(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                                            const mluOpTensorDescriptor_t input_desc, const void* input,
                                            const mluOpTensorDescriptor_t offset_desc, const void* offset,
                                            const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                            const mluOpTensorDescriptor_t filter_desc, const void* filter,
                                            const mluOpTensorDescriptor_t bias_desc, const void* bias,
                                            void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::dcn;
  return run_operator("mluOpDCNForward", handle, [&](Call& call) {
    const ForwardArgs args =
        check_forward(call, dcn_desc, {input_desc, input}, {offset_desc, offset}, {mask_desc, mask},
                      {filter_desc, filter}, {bias_desc, bias}, {output_desc, output});
    const Arena arena = call.workspace(workspace, workspace_size, forward::workspace_bytes(args));
    forward::run(call, args, arena);
  });
}

// mluOpFocalLossSigmoidBackward: entry.
// Start with the entry below, then check_arguments() in focal_loss_sigmoid_rules.h, run_backward() in
// focal_loss_sigmoid_native.cpp, and compute() in focal_loss_sigmoid_native_kernels.cpp.
#include "mlu_op.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpFocalLossSigmoidBackward(
    mluOpHandle_t handle, const mluOpComputationPreference_t prefer, const mluOpLossReduction_t reduction,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t target_desc,
    const void* target, const mluOpTensorDescriptor_t weight_desc, const void* weight, const float alpha,
    const float gamma, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {
  using namespace mluop;
  return run_operator("mluOpFocalLossSigmoidBackward", handle, [&](Call& call) {
    const focal_loss_sigmoid::Parameters parameters{prefer, reduction, alpha, gamma, 10000};
    focal_loss_sigmoid::native::run_backward(
        call,
        focal_loss_sigmoid::check_arguments(call, parameters, {input_desc, input}, {target_desc, target},
                                            {weight_desc, weight}, "grad_input", {grad_input_desc, grad_input}));
  });
}

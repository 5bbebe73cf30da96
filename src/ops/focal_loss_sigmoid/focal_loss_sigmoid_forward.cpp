// mluOpFocalLossSigmoidForward: entry.
// Start with the entry below, then check_arguments() in focal_loss_sigmoid_rules.h, run_forward() in
// focal_loss_sigmoid_native.cpp, and compute() in focal_loss_sigmoid_native_kernels.cpp.
#include <limits>

#include "mlu_op.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid_rules.h"

mluOpStatus_t MLUOP_WIN_API mluOpFocalLossSigmoidForward(
    mluOpHandle_t handle, const mluOpComputationPreference_t prefer, const mluOpLossReduction_t reduction,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t target_desc,
    const void* target, const mluOpTensorDescriptor_t weight_desc, const void* weight, const float alpha,
    const float gamma, const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpFocalLossSigmoidForward", handle, [&](Call& call) {
    const focal_loss_sigmoid::Parameters parameters{prefer, reduction, alpha, gamma,
                                                    std::numeric_limits<float>::max()};
    focal_loss_sigmoid::native::run_forward(
        call, focal_loss_sigmoid::check_arguments(call, parameters, {input_desc, input}, {target_desc, target},
                                                  {weight_desc, weight}, "output", {output_desc, output}));
  });
}

// mluOpOmpSoftmaxFocalLossForward and mluOpOmpSoftmaxFocalLossBackward. Start with the entries at the end, then
// run(); softmax_focal_loss_native_kernels.cpp has the loops.
#include "ops/softmax_focal_loss/softmax_focal_loss.h"

#include <algorithm>

#include "core/checks.h"
#include "mlu_op_omp.h"
#include "team/atomics.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::softmax_focal_loss {
namespace {

struct CheckArgs : Args {
  FirstBadItem& first_bad;
};

// Work items: rows.
void check_targets(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t n = begin; n < end; ++n) {
    if (-1 <= args.target[n] && args.target[n] < args.C) continue;
    args.first_bad.report(n);
    return;
  }
}

void run(Call& call, const Args& args) {
  Context& context = call.context();
  constexpr int64_t kFactorBytes = 64;  // cost of a factor, in bytes of memory traffic
  call.log_detail("native");
  context.reserve(0);
  FirstBadItem bad;
  launch<CheckArgs>(context, "check", choose_task_dim(args.N, args.N * int64_t{sizeof(int32_t)}), Evenly{args.N},
                    check_targets, {args, bad});
  if (bad.found()) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("target[", bad.item(), "] is ", args.target[bad.item()], ", expected -1 to ", args.C - 1));
  }
  const int64_t row_bytes = args.is_loss ? 0 : args.C * 2 * static_cast<int64_t>(size_of(args.dtype));
  launch(context, args.is_loss ? "losses" : "gradients",
         choose_task_dim(args.N, saturated_product({args.N, kFactorBytes + row_bytes})), Evenly{args.N},
         args.is_loss ? losses_kernel(args.dtype) : gradients_kernel(args.dtype), args);
}

struct Inputs {
  Input softmax, target, weight;
  float alpha, gamma;
};

// Declares and checks all arguments, and runs the call. `factors_name`: the name of the parameter `factors`;
// grad_input: null for the losses.
void check_and_run(Call& call, const Inputs& inputs, std::string_view factors_name, Output factors,
                   const Output* grad_input) {
  const auto dtype = dtype_of(inputs.softmax.desc);
  const int64_t N = dim_of(inputs.softmax.desc, 0), C = dim_of(inputs.softmax.desc, 1);
  call.parameter("alpha", inputs.alpha);
  call.parameter("gamma", inputs.gamma);
  call.input("softmax", inputs.softmax.desc, inputs.softmax.data, dtype, kAnyLayout, {kAny, kAny});
  call.input("target", inputs.target.desc, inputs.target.data, MLUOP_DTYPE_INT32, kAnyLayout, {N});
  const void* const weight = call.optional_input("weight", inputs.weight, dtype, kAnyLayout, {C});
  call.output(factors_name, factors.desc, factors.data, dtype, kAnyLayout, {N});
  const bool is_loss = grad_input == nullptr;
  if (!is_loss) call.output("grad_input", grad_input->desc, grad_input->data, dtype, kAnyLayout, {N, C});
  if (N == 0) call.reads_nothing();

  call.check_pointers();
  constexpr float kMaxGamma = 10000;
  // Rejects NaN too.
  require(0 <= inputs.gamma && inputs.gamma <= kMaxGamma, MLUOP_STATUS_BAD_PARAM, "gamma is ", inputs.gamma,
          ", expected 0 to ", kMaxGamma);
  require_element_type("softmax", dtype);
  call.check_tensors();
  if (N == 0) return;
  run(call, {N, C, inputs.alpha, inputs.gamma, dtype, inputs.softmax.data,
             static_cast<const int32_t*>(inputs.target.data), weight, factors.data,
             is_loss ? nullptr : grad_input->data, is_loss});
}

}  // namespace
}  // namespace mluop::softmax_focal_loss

mluOpStatus_t MLUOP_WIN_API
mluOpOmpSoftmaxFocalLossForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t softmax_desc,
                                const void* softmax, const mluOpTensorDescriptor_t target_desc, const void* target,
                                const mluOpTensorDescriptor_t weight_desc, const void* weight, const float alpha,
                                const float gamma, const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  return run_operator("mluOpOmpSoftmaxFocalLossForward", handle, [&](Call& call) {
    softmax_focal_loss::check_and_run(
        call, {{softmax_desc, softmax}, {target_desc, target}, {weight_desc, weight}, alpha, gamma}, "output",
        {output_desc, output}, nullptr);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSoftmaxFocalLossBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t softmax_desc, const void* softmax,
    const mluOpTensorDescriptor_t target_desc, const void* target, const mluOpTensorDescriptor_t weight_desc,
    const void* weight, const float alpha, const float gamma, const mluOpTensorDescriptor_t buff_desc, void* buff,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {
  using namespace mluop;
  return run_operator("mluOpOmpSoftmaxFocalLossBackward", handle, [&](Call& call) {
    const Output gradients{grad_input_desc, grad_input};
    softmax_focal_loss::check_and_run(
        call, {{softmax_desc, softmax}, {target_desc, target}, {weight_desc, weight}, alpha, gamma}, "buff",
        {buff_desc, buff}, &gradients);
  });
}

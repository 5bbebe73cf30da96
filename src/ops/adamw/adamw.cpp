// mluOpAdamW. Start with the entry at the end, then args_of(); adamw_native_kernels.cpp has the loop.
#include "ops/adamw/adamw.h"

#include <cmath>
#include <limits>

#include "core/adamw.h"
#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::adamw {
namespace {

struct Hyperparameters {
  float lr, beta1, beta2, bias1, bias2, epsilon;
};

// Declares the descriptor and the scalars.
void declare(Call& call, const AdamWDescriptor& desc, const Hyperparameters& h) {
  call.parameter("lr", h.lr);
  call.parameter("beta1", h.beta1);
  call.parameter("beta2", h.beta2);
  call.parameter("bias1", h.bias1);
  call.parameter("bias2", h.bias2);
  call.parameter("epsilon", h.epsilon);
  call.parameter("weight_decay", desc.weight_decay);
  call.parameter("scale", desc.grad_scale);
  call.parameter("use_nesterov", desc.use_nesterov);
  call.parameter("need_remove_nan", desc.need_remove_nan);
}

// Rejects NaN too.
void require_fraction(std::string_view name, float value) {
  require(0 <= value && value <= 1, MLUOP_STATUS_BAD_PARAM, name, " is ", value, ", expected 0 to 1");
}

// The bias correction 1 - beta^step, computed in double and rounded once.
float bias_of(float beta, float step) { return static_cast<float>(1 - std::pow(double{beta}, double{step})); }

// The arguments without the tensors. step: null in the mode that takes the bias corrections from the caller.
Args args_of(const AdamWDescriptor& desc, const Hyperparameters& h, const float* step) {
  Args args{};
  args.scale = desc.grad_scale;
  args.rate1 = 1 - h.beta1;
  args.rate2 = 1 - h.beta2;
  args.lr = h.lr;
  args.bias1 = step == nullptr ? h.bias1 : bias_of(h.beta1, *step);
  args.bias2 = step == nullptr ? h.bias2 : bias_of(h.beta2, *step);
  args.epsilon = h.epsilon;
  args.decay = step == nullptr ? h.lr * desc.weight_decay : 1 - h.lr * desc.weight_decay;
  return args;
}

}  // namespace
}  // namespace mluop::adamw

mluOpStatus_t MLUOP_WIN_API mluOpAdamW(mluOpHandle_t handle, mluOpAdamWDescriptor_t adamw_desc,
                                       const mluOpTensorDescriptor_t param_desc, void* param,
                                       const mluOpTensorDescriptor_t paramh_desc, void* paramh,
                                       const mluOpTensorDescriptor_t momentum_desc, void* momentum,
                                       const mluOpTensorDescriptor_t velocity_desc, void* velocity,
                                       const mluOpTensorDescriptor_t grad_desc, void* grad, const float lr,
                                       const float beta1, const float beta2, const float bias1, const float bias2,
                                       const float epsilon) {
  using namespace mluop;
  using namespace mluop::adamw;
  return run_operator("mluOpAdamW", handle, [&](Call& call) {
    require_not_null("adamw_desc", adamw_desc);
    const Hyperparameters h{lr, beta1, beta2, bias1, bias2, epsilon};
    const bool removes_nan = adamw_desc->need_remove_nan;
    declare(call, *adamw_desc, h);
    call.inout_like("param", {param_desc, param}, param_desc, MLUOP_DTYPE_FLOAT, kAnyLayout);
    if (removes_nan) {
      call.inout("paramh", paramh_desc, paramh, MLUOP_DTYPE_FLOAT, kAnyLayout, {1});
    } else {
      call.output_like("paramh", {paramh_desc, paramh}, param_desc, MLUOP_DTYPE_BFLOAT16, kAnyLayout);
    }
    call.inout_like("momentum", {momentum_desc, momentum}, param_desc, MLUOP_DTYPE_FLOAT, kAnyLayout);
    call.inout_like("velocity", {velocity_desc, velocity}, param_desc, MLUOP_DTYPE_FLOAT, kAnyLayout);
    call.input_like("grad", {grad_desc, grad}, param_desc, removes_nan ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_BFLOAT16,
                    kAnyLayout);
    call.check_pointers();
    require_fraction("beta1", beta1);
    require_fraction("beta2", beta2);
    require(epsilon > 0, MLUOP_STATUS_BAD_PARAM, "epsilon is ", epsilon, ", expected more than 0");
    call.check_tensors();
    const int64_t count = element_count(*param_desc), items = ceil_div(count, kItemElements);
    require(count > 0 && param_desc->dim_count > 0, MLUOP_STATUS_BAD_PARAM, "param has shape ",
            shape_text(param_desc->shape()), ", expected at least 1 dimension and 1 element");

    auto* const step = removes_nan ? static_cast<float*>(paramh) : nullptr;
    Args args = args_of(*adamw_desc, h, step);
    args.count = count;
    args.param = static_cast<float*>(param);
    args.paramh = paramh;
    args.momentum = static_cast<float*>(momentum);
    args.velocity = static_cast<float*>(velocity);
    args.grad = grad;
    constexpr int64_t kElementBytes = 28;  // read and written
    const int task_dim = choose_task_dim(items, saturated_product({count, kElementBytes}));
    call.log_detail("native, taskDim ", task_dim);
    call.context().reserve(0);
    launch(call.context(), "update", task_dim, Evenly{items},
           removes_nan ? update_without_nan_kernel() : update_kernel(), args);
    if (step == nullptr) return;
    const float next = *step + 1;
    *step = std::isinf(next) ? std::numeric_limits<float>::max() : next;
  });
}

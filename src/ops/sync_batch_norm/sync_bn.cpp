// The functions of mmcv: [N, C, S], or rows of channels. Start with the entries at the end.
#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "mlu_op_omp.h"
#include "ops/sync_batch_norm/sync_batch_norm.h"

namespace mluop::sync_batch_norm {
namespace {

Shape shape_of(const TensorDescriptor* desc) {
  const int64_t S = dim_of(desc, 2);
  return desc == nullptr || desc->dim_count < 3 ? rows_of(desc) : Shape{dim_of(desc, 0), dim_of(desc, 1), S};
}

// The arguments of a call; tensors without letters in their names are per channel.
class Tensors {
 public:
  Tensors(Call& call, const char* name, const Input& image)
      : call_(call), name_(name), image_(image), shape_(sync_batch_norm::shape_of(image.desc)) {
    call.input(name, image.desc, image.data);
  }

  const Shape& shape() const { return shape_; }
  mluOpDataType_t dtype() const { return dtype_of(image_.desc); }
  void input(const char* name, const Input& tensor) const {
    call_.input(name, tensor.desc, tensor.data, kFloat, kAnyLayout, {shape_.C});
  }
  const float* optional_input(const char* name, const Input& tensor) const {
    return static_cast<const float*>(call_.optional_input(name, tensor, kFloat, kAnyLayout, {shape_.C}));
  }
  void output(const char* name, const Output& tensor) const {
    call_.output(name, tensor.desc, tensor.data, kFloat, kAnyLayout, {shape_.C});
  }
  float* optional_inout(const char* name, const Output& tensor) const {
    if (tensor.is_missing()) return nullptr;
    call_.inout(name, tensor.desc, tensor.data, kFloat, kAnyLayout, {shape_.C});
    return floats(tensor);
  }
  void check() const {
    call_.check_pointers();
    call_.check_parameters();
    require_element_type(name_, dtype());
    const int dims = image_.desc->dim_count;
    require(dims == 2 || dims == 3, MLUOP_STATUS_BAD_PARAM, name_, " has ", dims, " dimensions, expected 2 or 3");
    call_.check_tensors();
  }

 private:
  Call& call_;
  const char* name_;
  Input image_;
  Shape shape_;
};

// Writes result(sum, sum of squares) of input - shift, for each channel; shift null: a number near the mean.
template <class Result>
void write_moments(Call& call, const Tensors& tensors, const Input& input, const float* shift, float* to,
                   const Result& result) {
  const Shape& shape = tensors.shape();
  const SumScratch scratch = reserve_sums(call.context(), shape);
  if (shape.terms() > 0 && shift == nullptr) set_shift(shape, tensors.dtype(), input.data, scratch.shift);
  if (shape.terms() > 0 && shift != nullptr) std::copy_n(shift, shape.C, scratch.shift);
  const double* const sums = sum_squares(call, shape, tensors.dtype(), input.data, scratch);
  for (int64_t c = 0; c < shape.C; ++c) {
    const double number = result(double{scratch.shift[c]}, sums[c], sums[shape.C + c]);
    to[c] = shape.terms() == 0 ? 0 : static_cast<float>(number);
  }
}

}  // namespace
}  // namespace mluop::sync_batch_norm

mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnForwardMean(mluOpHandle_t handle,
                                                      const mluOpTensorDescriptor_t input_desc, const void* input,
                                                      const mluOpTensorDescriptor_t mean_desc, void* mean) {
  using namespace mluop;
  using namespace mluop::sync_batch_norm;
  return run_operator("mluOpOmpSyncBnForwardMean", handle, [&](Call& call) {
    const Tensors tensors(call, "input", {input_desc, input});
    tensors.output("mean", {mean_desc, mean});
    tensors.check();
    const double terms = static_cast<double>(tensors.shape().terms());
    write_moments(call, tensors, {input_desc, input}, nullptr, static_cast<float*>(mean),
                  [&](double shift, double sum, double) { return shift + sum / terms; });
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnForwardVar(mluOpHandle_t handle,
                                                     const mluOpTensorDescriptor_t input_desc, const void* input,
                                                     const mluOpTensorDescriptor_t mean_desc, const void* mean,
                                                     const mluOpTensorDescriptor_t var_desc, void* var) {
  using namespace mluop;
  using namespace mluop::sync_batch_norm;
  return run_operator("mluOpOmpSyncBnForwardVar", handle, [&](Call& call) {
    const Tensors tensors(call, "input", {input_desc, input});
    tensors.input("mean", {mean_desc, mean});
    tensors.output("var", {var_desc, var});
    if (tensors.shape().terms() == 0) call.reads_nothing();
    tensors.check();
    const double terms = static_cast<double>(tensors.shape().terms());
    write_moments(call, tensors, {input_desc, input}, static_cast<const float*>(mean), static_cast<float*>(var),
                  [&](double, double, double squares) { return squares / terms; });
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnForwardOutput(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t mean_desc, const void* mean, const mluOpTensorDescriptor_t var_desc,
    const void* var, const mluOpTensorDescriptor_t weight_desc, const void* weight,
    const mluOpTensorDescriptor_t bias_desc, const void* bias, const mluOpTensorDescriptor_t running_mean_desc,
    void* running_mean, const mluOpTensorDescriptor_t running_var_desc, void* running_var, const float eps,
    const float momentum, const int group_size, const mluOpTensorDescriptor_t norm_desc, void* norm,
    const mluOpTensorDescriptor_t std_desc, void* std, const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::sync_batch_norm;
  return run_operator("mluOpOmpSyncBnForwardOutput", handle, [&](Call& call) {
    const Tensors tensors(call, "input", {input_desc, input});
    tensors.input("mean", {mean_desc, mean});
    tensors.input("var", {var_desc, var});
    const float* const weights = tensors.optional_input("weight", {weight_desc, weight});
    const float* const biases = tensors.optional_input("bias", {bias_desc, bias});
    float* const means = tensors.optional_inout("running_mean", {running_mean_desc, running_mean});
    float* const vars = tensors.optional_inout("running_var", {running_var_desc, running_var});
    call.parameter("eps", eps);
    call.parameter("momentum", momentum);
    call.parameter("group_size", int64_t{group_size}, AtLeast{1});
    call.output_like("norm", {norm_desc, norm}, input_desc, kFloat, kAnyLayout);
    tensors.output("std", {std_desc, std});
    call.output_like("output", {output_desc, output}, input_desc, tensors.dtype(), kAnyLayout);
    tensors.check();

    const Shape& shape = tensors.shape();
    const Channels channels = reserve_channels(call.context(), shape.C);
    // Exceeds int64_t for no tensor in memory; double as in the division.
    const double count = static_cast<double>(shape.terms()) * group_size, rate = double{momentum};
    const double unbiased = count > 1 ? count / (count - 1) : 1;
    const auto root_of = [&](int64_t c) {
      return std::sqrt(double{static_cast<const float*>(var)[c]} + double{eps});
    };
    for (int64_t c = 0; c < shape.C; ++c) {
      channels.mean[c] = static_cast<const float*>(mean)[c];
      channels.factor[c] = static_cast<float>(1 / root_of(c));
      channels.scale[c] = weights == nullptr ? 1 : weights[c];
      channels.offset[c] = biases == nullptr ? 0 : biases[c];
    }
    if (shape.terms() > 0) {
      map_forward(call, shape, tensors.dtype(), input, channels, static_cast<float*>(norm), output);
    }
    // What the call reads and writes is updated last: a call without memory leaves it as it is.
    const auto move = [&](float* moving, int64_t c, double now) {
      if (moving != nullptr) moving[c] = static_cast<float>(rate * now + (1 - rate) * double{moving[c]});
    };
    for (int64_t c = 0; c < shape.C; ++c) {
      static_cast<float*>(std)[c] = static_cast<float>(root_of(c));
      move(means, c, double{static_cast<const float*>(mean)[c]});
      move(vars, c, static_cast<const float*>(var)[c] * unbiased);
    }
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnBackwardParam(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t norm_desc, const void* norm, const mluOpTensorDescriptor_t grad_weight_desc,
    void* grad_weight, const mluOpTensorDescriptor_t grad_bias_desc, void* grad_bias) {
  using namespace mluop;
  using namespace mluop::sync_batch_norm;
  return run_operator("mluOpOmpSyncBnBackwardParam", handle, [&](Call& call) {
    const Tensors tensors(call, "grad_output", {grad_output_desc, grad_output});
    call.input_like("norm", {norm_desc, norm}, grad_output_desc, kFloat, kAnyLayout);
    tensors.output("grad_weight", {grad_weight_desc, grad_weight});
    tensors.output("grad_bias", {grad_bias_desc, grad_bias});
    tensors.check();
    const Shape& shape = tensors.shape();
    const SumScratch scratch = reserve_sums(call.context(), shape);
    const double* const sums = sum_products(call, shape, tensors.dtype(), grad_output, norm, true, scratch);
    for (int64_t c = 0; c < shape.C; ++c) {
      static_cast<float*>(grad_bias)[c] = static_cast<float>(sums[c]);
      static_cast<float*>(grad_weight)[c] = static_cast<float>(sums[shape.C + c]);
    }
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnBackwardData(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t weight_desc, const void* weight, const mluOpTensorDescriptor_t grad_weight_desc,
    const void* grad_weight, const mluOpTensorDescriptor_t grad_bias_desc, const void* grad_bias,
    const mluOpTensorDescriptor_t norm_desc, const void* norm, const mluOpTensorDescriptor_t std_desc,
    const void* std, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {
  using namespace mluop;
  using namespace mluop::sync_batch_norm;
  return run_operator("mluOpOmpSyncBnBackwardData", handle, [&](Call& call) {
    const Tensors tensors(call, "grad_output", {grad_output_desc, grad_output});
    const float* const weights = tensors.optional_input("weight", {weight_desc, weight});
    tensors.input("grad_weight", {grad_weight_desc, grad_weight});
    tensors.input("grad_bias", {grad_bias_desc, grad_bias});
    call.input_like("norm", {norm_desc, norm}, grad_output_desc, kFloat, kAnyLayout);
    tensors.input("std", {std_desc, std});
    call.output_like("grad_input", {grad_input_desc, grad_input}, grad_output_desc, tensors.dtype(), kAnyLayout);
    if (has_no_elements(grad_input_desc)) call.reads_nothing();
    tensors.check();
    if (has_no_elements(grad_input_desc)) return;
    const Shape& shape = tensors.shape();
    const Channels channels = reserve_channels(call.context(), shape.C);
    for (int64_t c = 0; c < shape.C; ++c) {
      const auto number = [c](const void* numbers) { return double{static_cast<const float*>(numbers)[c]}; };
      const double terms = static_cast<double>(shape.terms());
      channels.mean[c] = 0;
      channels.factor[c] = static_cast<float>(number(grad_weight) / terms);
      channels.scale[c] = static_cast<float>((weights == nullptr ? 1 : double{weights[c]}) / number(std));
      channels.offset[c] = static_cast<float>(number(grad_bias) / terms);
    }
    map_backward(call, shape, tensors.dtype(), grad_output, norm, true, channels, grad_input);
  });
}

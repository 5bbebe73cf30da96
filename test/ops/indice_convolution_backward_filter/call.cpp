#include "ops/indice_convolution_backward_filter/call.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "support/element.h"

namespace mluop::test {
namespace {

template <class T>
size_t workspace_bytes(const IndiceConvolutionBackwardFilterCall<T>& call) {
  require(call.query());
  return call.queried_buffer[0];
}

}  // namespace

template <class T>
IndiceConvolutionBackwardFilterInputs<T> random_indice_convolution_backward_filter(
    const IndiceConvolutionSizes& sizes, std::mt19937& random) {
  auto forward = random_indice_convolution<T>(sizes, FilterLayout::kArray, random);
  IndiceConvolutionBackwardFilterInputs<T> inputs{
      sizes, std::move(forward.features), {}, std::move(forward.indice_pairs), std::move(forward.indice_num)};
  for (int64_t i = 0; i < sizes.features_out_count(); ++i) {
    inputs.output_grad.push_back(rounded_to<T>(static_cast<double>(random() % 5) - 2));
  }
  return inputs;
}

template <class T>
void make_fractional(IndiceConvolutionBackwardFilterInputs<T>& inputs, std::mt19937& random) {
  const auto unit = [&] { return rounded_to<T>(static_cast<double>(random() >> 8) * 0x1p-23 - 1); };
  for (T& value : inputs.features) value = unit();
  for (T& value : inputs.output_grad) value = unit();
}

template <class T>
std::vector<double> indice_convolution_backward_filter_sums(
    const IndiceConvolutionBackwardFilterInputs<T>& inputs) {
  std::vector<double> sums(static_cast<size_t>(inputs.sizes.filters_count()));
  reference::indice_convolution_backward_filter(inputs.sizes, inputs.features.data(), inputs.output_grad.data(),
                                                inputs.indice_pairs.data(), inputs.indice_num.data(), sums.data());
  return sums;
}

template <class T>
std::vector<float> indice_convolution_backward_filter_reference(
    const IndiceConvolutionBackwardFilterInputs<T>& inputs) {
  std::vector<float> rounded;
  for (const double sum : indice_convolution_backward_filter_sums(inputs))
    rounded.push_back(to_f32(rounded_to<T>(sum)));
  return rounded;
}

template <class T>
IndiceConvolutionBackwardFilterCall<T>::IndiceConvolutionBackwardFilterCall(mluOpHandle_t with,
                                                                            const Inputs& inputs,
                                                                            Placement placement)
    : GuardedCall(with),
      features_buffer(inputs.features, placement),
      output_grad_buffer(inputs.output_grad, placement),
      pairs_buffer(inputs.indice_pairs, placement),
      num_buffer(inputs.indice_num, placement),
      filters_grad_buffer(static_cast<size_t>(inputs.sizes.filters_count()), placement),
      queried_buffer(1),
      own_features_desc(kDtype<T>, {inputs.sizes.num_act_in, inputs.sizes.Ci}),
      own_output_grad_desc(kDtype<T>, {inputs.sizes.num_act_out, inputs.sizes.Co}),
      own_pairs_desc(MLUOP_DTYPE_INT32, {inputs.sizes.K(), 2, inputs.sizes.num_act_in}),
      own_filters_grad_desc(kDtype<T>,
                            {inputs.sizes.D, inputs.sizes.H, inputs.sizes.W, inputs.sizes.Ci, inputs.sizes.Co}),
      features_desc(own_features_desc),
      output_grad_desc(own_output_grad_desc),
      indice_pairs_desc(own_pairs_desc),
      filters_grad_desc(own_filters_grad_desc),
      features(features_buffer.data()),
      output_grad(output_grad_buffer.data()),
      indice_pairs(pairs_buffer.data()),
      indice_num(num_buffer.data()),
      queried_size(queried_buffer.data()),
      workspace_buffer(workspace_bytes(*this), placement),
      workspace(workspace_buffer.data()),
      workspace_size(workspace_buffer.size()),
      filters_grad(filters_grad_buffer.data()) {
  set_buffers({&features_buffer, &output_grad_buffer, &pairs_buffer, &num_buffer},
              {&filters_grad_buffer, &queried_buffer}, {&workspace_buffer});
}

template <class T>
mluOpStatus_t IndiceConvolutionBackwardFilterCall<T>::run() const {
  return mluOpIndiceConvolutionBackwardFilter(handle, features_desc, features, output_grad_desc, output_grad,
                                              indice_pairs_desc, indice_pairs, indice_num, inverse, sub_m,
                                              workspace, workspace_size, filters_grad_desc, filters_grad);
}

template <class T>
mluOpStatus_t IndiceConvolutionBackwardFilterCall<T>::query() const {
  return mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(handle, features_desc, output_grad_desc,
                                                              indice_pairs_desc, filters_grad_desc, indice_num,
                                                              inverse, sub_m, queried_size);
}

template <class T>
std::vector<float> IndiceConvolutionBackwardFilterCall<T>::output() const {
  std::vector<float> floats;
  for (const T value : filters_grad_buffer.values()) floats.push_back(to_f32(value));
  return floats;
}

template <class T>
std::vector<float> indice_convolution_backward_filter_result(
    const IndiceConvolutionBackwardFilterInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm, Placement placement) {
  const Handle handle(algorithm);
  const IndiceConvolutionBackwardFilterCall<T> call(handle, inputs, placement);
  require(call.run());
  if (!call.intact()) throw std::runtime_error("the call changed inputs or guard zones");
  return call.output();
}

template IndiceConvolutionBackwardFilterInputs<float> random_indice_convolution_backward_filter(
    const IndiceConvolutionSizes&, std::mt19937&);
template void make_fractional(IndiceConvolutionBackwardFilterInputs<float>&, std::mt19937&);
template std::vector<double> indice_convolution_backward_filter_sums(
    const IndiceConvolutionBackwardFilterInputs<float>&);
template std::vector<float> indice_convolution_backward_filter_reference(
    const IndiceConvolutionBackwardFilterInputs<float>&);
template std::vector<float> indice_convolution_backward_filter_result(
    const IndiceConvolutionBackwardFilterInputs<float>&, mluOpOmpAlgorithm_t, Placement);
template struct IndiceConvolutionBackwardFilterCall<float>;
template IndiceConvolutionBackwardFilterInputs<Half> random_indice_convolution_backward_filter(
    const IndiceConvolutionSizes&, std::mt19937&);
template void make_fractional(IndiceConvolutionBackwardFilterInputs<Half>&, std::mt19937&);
template std::vector<double> indice_convolution_backward_filter_sums(
    const IndiceConvolutionBackwardFilterInputs<Half>&);
template std::vector<float> indice_convolution_backward_filter_reference(
    const IndiceConvolutionBackwardFilterInputs<Half>&);
template std::vector<float> indice_convolution_backward_filter_result(
    const IndiceConvolutionBackwardFilterInputs<Half>&, mluOpOmpAlgorithm_t, Placement);
template struct IndiceConvolutionBackwardFilterCall<Half>;

}  // namespace mluop::test

#include "ops/indice_convolution_backward_data/call.h"

#include <stdexcept>
#include <utility>

#include "support/element.h"

namespace mluop::test {
namespace {

Descriptor filters_descriptor(mluOpDataType_t dtype, const IndiceConvolutionSizes& s, FilterFormat format) {
  switch (format.layout) {
    case MLUOP_LAYOUT_NDHWC: return {dtype, {s.Co, s.D, s.H, s.W, s.Ci}, format.layout};
    case MLUOP_LAYOUT_NCDHW: return {dtype, {s.Co, s.Ci, s.D, s.H, s.W}, format.layout};
    case MLUOP_LAYOUT_NHWC: return {dtype, {s.Co, s.H, s.W, s.Ci}, format.layout};
    case MLUOP_LAYOUT_NCHW: return {dtype, {s.Co, s.Ci, s.H, s.W}, format.layout};
    case MLUOP_LAYOUT_HWCN: return {dtype, {s.H, s.W, s.Ci, s.Co}, format.layout};
    default: break;
  }
  if (format.dim_count == 4) return {dtype, {s.H, s.W, s.Ci, s.Co}};
  return {dtype, {s.D, s.H, s.W, s.Ci, s.Co}};
}

// [K, Ci, Co] in a format.
template <class T>
std::vector<T> in_format(const std::vector<T>& filters, const IndiceConvolutionSizes& s, FilterFormat format) {
  std::vector<T> arranged(filters.size());
  const bool channels_last = format.layout == MLUOP_LAYOUT_NDHWC || format.layout == MLUOP_LAYOUT_NHWC;
  const bool channels_first = format.layout == MLUOP_LAYOUT_NCDHW || format.layout == MLUOP_LAYOUT_NCHW;
  const auto layout = channels_last    ? FilterLayout::kNdhwc
                      : channels_first ? FilterLayout::kNcdhw
                                       : FilterLayout::kArray;
  size_t i = 0;
  for (int64_t k = 0; k < s.K(); ++k) {
    for (int64_t ci = 0; ci < s.Ci; ++ci) {
      for (int64_t co = 0; co < s.Co; ++co) {
        arranged[static_cast<size_t>(reference::filter_index(s, layout, k, ci, co))] = filters[i++];
      }
    }
  }
  return arranged;
}

template <class T>
size_t workspace_bytes(const IndiceConvolutionBackwardDataCall<T>& call) {
  require(call.query());
  return call.queried_buffer[0];
}

}  // namespace

template <class T>
IndiceConvolutionBackwardDataInputs<T> random_indice_convolution_backward_data(const IndiceConvolutionSizes& sizes,
                                                                               FilterFormat format,
                                                                               std::mt19937& random) {
  auto forward = random_indice_convolution<T>(sizes, FilterLayout::kArray, random);
  IndiceConvolutionBackwardDataInputs<T> inputs{sizes,
                                                format,
                                                {},
                                                std::move(forward.filters),
                                                std::move(forward.indice_pairs),
                                                std::move(forward.indice_num)};
  for (int64_t i = 0; i < sizes.features_out_count(); ++i) {
    inputs.output_grad.push_back(rounded_to<T>(static_cast<double>(random() % 5) - 2));
  }
  return inputs;
}

template <class T>
void make_fractional(IndiceConvolutionBackwardDataInputs<T>& inputs, std::mt19937& random) {
  const auto unit = [&] { return rounded_to<T>(static_cast<double>(random() >> 8) * 0x1p-23 - 1); };
  for (T& value : inputs.output_grad) value = unit();
  for (T& value : inputs.filters) value = unit();
}

template <class T>
std::vector<double> indice_convolution_backward_data_sums(const IndiceConvolutionBackwardDataInputs<T>& inputs) {
  std::vector<double> sums(static_cast<size_t>(inputs.sizes.features_count()));
  reference::indice_convolution_backward_data(inputs.sizes, inputs.output_grad.data(), inputs.filters.data(),
                                              inputs.indice_pairs.data(), inputs.indice_num.data(), sums.data());
  return sums;
}

template <class T>
std::vector<float> indice_convolution_backward_data_reference(
    const IndiceConvolutionBackwardDataInputs<T>& inputs) {
  std::vector<float> rounded;
  for (const double sum : indice_convolution_backward_data_sums(inputs))
    rounded.push_back(to_f32(rounded_to<T>(sum)));
  return rounded;
}

template <class T>
IndiceConvolutionBackwardDataCall<T>::IndiceConvolutionBackwardDataCall(mluOpHandle_t with, const Inputs& inputs,
                                                                        Placement placement)
    : GuardedCall(with),
      output_grad_buffer(inputs.output_grad, placement),
      filters_buffer(in_format(inputs.filters, inputs.sizes, inputs.format), placement),
      pairs_buffer(inputs.indice_pairs, placement),
      num_buffer(inputs.indice_num, placement),
      input_grad_buffer(static_cast<size_t>(inputs.sizes.features_count()), placement),
      queried_buffer(1),
      own_output_grad_desc(kDtype<T>, {inputs.sizes.num_act_out, inputs.sizes.Co}),
      own_filters_desc(filters_descriptor(kDtype<T>, inputs.sizes, inputs.format)),
      own_pairs_desc(MLUOP_DTYPE_INT32, {inputs.sizes.K(), 2, inputs.sizes.num_act_in}),
      own_input_grad_desc(kDtype<T>, {inputs.sizes.num_act_in, inputs.sizes.Ci}),
      output_grad_desc(own_output_grad_desc),
      filters_desc(own_filters_desc),
      indice_pairs_desc(own_pairs_desc),
      input_grad_desc(own_input_grad_desc),
      output_grad(output_grad_buffer.data()),
      filters(filters_buffer.data()),
      indice_pairs(pairs_buffer.data()),
      indice_num(num_buffer.data()),
      queried_size(queried_buffer.data()),
      workspace_buffer(workspace_bytes(*this), placement),
      workspace(workspace_buffer.data()),
      workspace_size(workspace_buffer.size()),
      input_grad(input_grad_buffer.data()) {
  set_buffers({&output_grad_buffer, &filters_buffer, &pairs_buffer, &num_buffer},
              {&input_grad_buffer, &queried_buffer}, {&workspace_buffer});
}

template <class T>
mluOpStatus_t IndiceConvolutionBackwardDataCall<T>::run() const {
  return mluOpIndiceConvolutionBackwardData(handle, output_grad_desc, output_grad, filters_desc, filters,
                                            indice_pairs_desc, indice_pairs, indice_num, inverse, sub_m, workspace,
                                            workspace_size, input_grad_desc, input_grad);
}

template <class T>
mluOpStatus_t IndiceConvolutionBackwardDataCall<T>::query() const {
  return mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(handle, output_grad_desc, filters_desc,
                                                            indice_pairs_desc, input_grad_desc, indice_num,
                                                            inverse, queried_size);
}

template <class T>
std::vector<float> IndiceConvolutionBackwardDataCall<T>::output() const {
  std::vector<float> floats;
  for (const T value : input_grad_buffer.values()) floats.push_back(to_f32(value));
  return floats;
}

template <class T>
std::vector<float> indice_convolution_backward_data_result(const IndiceConvolutionBackwardDataInputs<T>& inputs,
                                                           mluOpOmpAlgorithm_t algorithm, Placement placement) {
  const Handle handle(algorithm);
  const IndiceConvolutionBackwardDataCall<T> call(handle, inputs, placement);
  require(call.run());
  if (!call.intact()) throw std::runtime_error("the call changed inputs or guard zones");
  return call.output();
}

template IndiceConvolutionBackwardDataInputs<float> random_indice_convolution_backward_data(
    const IndiceConvolutionSizes&, FilterFormat, std::mt19937&);
template void make_fractional(IndiceConvolutionBackwardDataInputs<float>&, std::mt19937&);
template std::vector<double> indice_convolution_backward_data_sums(
    const IndiceConvolutionBackwardDataInputs<float>&);
template std::vector<float> indice_convolution_backward_data_reference(
    const IndiceConvolutionBackwardDataInputs<float>&);
template std::vector<float> indice_convolution_backward_data_result(
    const IndiceConvolutionBackwardDataInputs<float>&, mluOpOmpAlgorithm_t, Placement);
template struct IndiceConvolutionBackwardDataCall<float>;
template IndiceConvolutionBackwardDataInputs<Half> random_indice_convolution_backward_data(
    const IndiceConvolutionSizes&, FilterFormat, std::mt19937&);
template void make_fractional(IndiceConvolutionBackwardDataInputs<Half>&, std::mt19937&);
template std::vector<double> indice_convolution_backward_data_sums(
    const IndiceConvolutionBackwardDataInputs<Half>&);
template std::vector<float> indice_convolution_backward_data_reference(
    const IndiceConvolutionBackwardDataInputs<Half>&);
template std::vector<float> indice_convolution_backward_data_result(
    const IndiceConvolutionBackwardDataInputs<Half>&, mluOpOmpAlgorithm_t, Placement);
template struct IndiceConvolutionBackwardDataCall<Half>;

}  // namespace mluop::test

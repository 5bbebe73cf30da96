#include "ops/indice_convolution_forward/call.h"

#include <climits>
#include <stdexcept>

#include "support/element.h"

namespace mluop::test {
namespace {

template <class T>
size_t workspace_bytes(const IndiceConvolutionCall<T>& call) {
  require(call.query());
  return call.queried_buffer[0];
}

}  // namespace

template <class T>
IndiceConvolutionInputs<T> random_indice_convolution(const IndiceConvolutionSizes& sizes, FilterLayout layout,
                                                     std::mt19937& random) {
  IndiceConvolutionInputs<T> inputs{sizes, layout, {}, {}, {}, {}};
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  const auto integer = [&] { return rounded_to<T>(static_cast<double>(below(5) - 2)); };
  for (int64_t i = 0; i < sizes.features_count(); ++i) inputs.features.push_back(integer());
  for (int64_t i = 0; i < sizes.filters_count(); ++i) inputs.filters.push_back(integer());
  inputs.indice_pairs.assign(static_cast<size_t>(sizes.pairs_count()), INT_MAX);
  int32_t* offset = inputs.indice_pairs.data();
  for (int64_t k = 0; k < sizes.K(); ++k, offset += 2 * sizes.num_act_in) {
    const int64_t kind = below(4);
    const int64_t count = kind == 0 ? 0 : kind == 1 ? sizes.num_act_in : below(sizes.num_act_in + 1);
    inputs.indice_num.push_back(count);
    for (int64_t l = 0; l < count; ++l) {
      int32_t &input = offset[l], &output = offset[sizes.num_act_in + l];
      input = static_cast<int32_t>(below(sizes.num_act_in));
      output = static_cast<int32_t>(below(sizes.num_act_out));
      const int64_t none = below(16);
      if (none == 0) input = -1, output = INT_MAX;
      if (none == 1) input = INT_MAX, output = INT_MIN;
    }
  }
  return inputs;
}

template <class T>
void make_fractional(IndiceConvolutionInputs<T>& inputs, std::mt19937& random) {
  const auto unit = [&] { return rounded_to<T>(static_cast<double>(random() >> 8) * 0x1p-23 - 1); };
  for (T& feature : inputs.features) feature = unit();
  for (T& weight : inputs.filters) weight = unit();
}

template <class T>
std::vector<double> indice_convolution_sums(const IndiceConvolutionInputs<T>& inputs) {
  std::vector<double> sums(static_cast<size_t>(inputs.sizes.features_out_count()));
  reference::indice_convolution_forward(inputs.sizes, inputs.features.data(), inputs.layout, inputs.filters.data(),
                                        inputs.indice_pairs.data(), inputs.indice_num.data(), 0, inputs.sizes.Co,
                                        sums.data());
  return sums;
}

template <class T>
std::vector<float> indice_convolution_reference(const IndiceConvolutionInputs<T>& inputs) {
  std::vector<float> rounded;
  for (const double sum : indice_convolution_sums(inputs)) rounded.push_back(to_f32(rounded_to<T>(sum)));
  return rounded;
}

template <class T>
IndiceConvolutionCall<T>::IndiceConvolutionCall(mluOpHandle_t with, const IndiceConvolutionInputs<T>& inputs,
                                                Placement placement)
    : GuardedCall(with),
      features_buffer(inputs.features, placement),
      filters_buffer(inputs.filters, placement),
      pairs_buffer(inputs.indice_pairs, placement),
      num_buffer(inputs.indice_num, placement),
      features_out_buffer(static_cast<size_t>(inputs.sizes.features_out_count()), placement),
      queried_buffer(1),
      own_features_desc(kDtype<T>, {inputs.sizes.num_act_in, inputs.sizes.Ci}),
      own_filters_desc(filters_descriptor(kDtype<T>, inputs.sizes, inputs.layout)),
      own_pairs_desc(MLUOP_DTYPE_INT32, {inputs.sizes.K(), 2, inputs.sizes.num_act_in}),
      own_features_out_desc(kDtype<T>, {inputs.sizes.num_act_out, inputs.sizes.Co}),
      features_desc(own_features_desc),
      filters_desc(own_filters_desc),
      indice_pairs_desc(own_pairs_desc),
      features_out_desc(own_features_out_desc),
      features(features_buffer.data()),
      filters(filters_buffer.data()),
      indice_pairs(pairs_buffer.data()),
      indice_num(num_buffer.data()),
      num_act_out(inputs.sizes.num_act_out),
      queried_size(queried_buffer.data()),
      workspace_buffer(workspace_bytes(*this), placement),
      workspace(workspace_buffer.data()),
      workspace_size(workspace_buffer.size()),
      features_out(features_out_buffer.data()) {
  set_buffers({&features_buffer, &filters_buffer, &pairs_buffer, &num_buffer},
              {&features_out_buffer, &queried_buffer}, {&workspace_buffer});
}

template <class T>
mluOpStatus_t IndiceConvolutionCall<T>::run() const {
  return mluOpIndiceConvolutionForward(handle, features_desc, features, filters_desc, filters, indice_pairs_desc,
                                       indice_pairs, indice_num, num_act_out, inverse, sub_m, workspace,
                                       workspace_size, features_out_desc, features_out);
}

template <class T>
mluOpStatus_t IndiceConvolutionCall<T>::query() const {
  return mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, features_desc, filters_desc, indice_pairs_desc,
                                                       features_out_desc, indice_num, num_act_out, inverse, sub_m,
                                                       queried_size);
}

template <class T>
std::vector<float> IndiceConvolutionCall<T>::output() const {
  std::vector<float> floats;
  for (const T value : features_out_buffer.values()) floats.push_back(to_f32(value));
  return floats;
}

template <class T>
std::vector<float> indice_convolution_result(const IndiceConvolutionInputs<T>& inputs,
                                             mluOpOmpAlgorithm_t algorithm, Placement placement) {
  const Handle handle(algorithm);
  const IndiceConvolutionCall<T> call(handle, inputs, placement);
  require(call.run());
  if (!call.intact()) throw std::runtime_error("the call changed inputs or guard zones");
  return call.output();
}

Descriptor filters_descriptor(mluOpDataType_t dtype, const IndiceConvolutionSizes& s, FilterLayout layout) {
  switch (layout) {
    case FilterLayout::kNdhwc: return {dtype, {s.Co, s.D, s.H, s.W, s.Ci}, MLUOP_LAYOUT_NDHWC};
    case FilterLayout::kNcdhw: return {dtype, {s.Co, s.Ci, s.D, s.H, s.W}, MLUOP_LAYOUT_NCDHW};
    case FilterLayout::kArray: break;
  }
  return {dtype, {s.D, s.H, s.W, s.Ci, s.Co}, MLUOP_LAYOUT_ARRAY};
}

template IndiceConvolutionInputs<float> random_indice_convolution(const IndiceConvolutionSizes&, FilterLayout,
                                                                  std::mt19937&);
template IndiceConvolutionInputs<Half> random_indice_convolution(const IndiceConvolutionSizes&, FilterLayout,
                                                                 std::mt19937&);
template void make_fractional(IndiceConvolutionInputs<float>&, std::mt19937&);
template void make_fractional(IndiceConvolutionInputs<Half>&, std::mt19937&);
template std::vector<double> indice_convolution_sums(const IndiceConvolutionInputs<float>&);
template std::vector<double> indice_convolution_sums(const IndiceConvolutionInputs<Half>&);
template std::vector<float> indice_convolution_reference(const IndiceConvolutionInputs<float>&);
template std::vector<float> indice_convolution_reference(const IndiceConvolutionInputs<Half>&);
template std::vector<float> indice_convolution_result(const IndiceConvolutionInputs<float>&, mluOpOmpAlgorithm_t,
                                                      Placement);
template std::vector<float> indice_convolution_result(const IndiceConvolutionInputs<Half>&, mluOpOmpAlgorithm_t,
                                                      Placement);
template struct IndiceConvolutionCall<float>;
template struct IndiceConvolutionCall<Half>;

}  // namespace mluop::test

#include "ops/three_interpolate_forward/call.h"

#include "support/element.h"

namespace mluop::test {

template <class T>
ThreeInterpolateForwardInputs<T> random_three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes,
                                                                  std::mt19937& random) {
  ThreeInterpolateForwardInputs<T> inputs{sizes, {}, {}, {}};
  // 24 bits, which fp32 represents exactly.
  const auto unit = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  inputs.features.reserve(static_cast<size_t>(sizes.features_count()));
  for (int64_t i = 0; i < sizes.features_count(); ++i) inputs.features.push_back(rounded_to<T>(unit() * 2 - 1));
  for (int64_t i = 0; i < sizes.index_count(); ++i) {
    inputs.indices.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(sizes.M)));
    inputs.weights.push_back(rounded_to<T>(unit()));
  }
  return inputs;
}

template <class T>
std::vector<T> three_interpolate_forward_reference(const ThreeInterpolateForwardInputs<T>& inputs) {
  std::vector<T> output(static_cast<size_t>(inputs.sizes.output_count()));
  reference::three_interpolate_forward(inputs.sizes, inputs.features.data(), inputs.indices.data(),
                                       inputs.weights.data(), output.data());
  return output;
}

template <class T>
ThreeInterpolateForwardCall<T>::ThreeInterpolateForwardCall(mluOpHandle_t with, const Inputs& inputs,
                                                            Placement placement)
    : GuardedCall(with),
      features_buffer(inputs.features, placement),
      indices_buffer(inputs.indices, placement),
      weights_buffer(inputs.weights, placement),
      output_buffer(static_cast<size_t>(inputs.sizes.output_count()), placement),
      own_features_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.C, inputs.sizes.M}),
      own_indices_desc(MLUOP_DTYPE_INT32, {inputs.sizes.B, inputs.sizes.N, 3}),
      own_weights_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.N, 3}),
      own_output_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.C, inputs.sizes.N}),
      features_desc(own_features_desc),
      indices_desc(own_indices_desc),
      weights_desc(own_weights_desc),
      output_desc(own_output_desc),
      features(features_buffer.data()),
      indices(indices_buffer.data()),
      weights(weights_buffer.data()),
      output(output_buffer.data()) {
  set_buffers({&features_buffer, &indices_buffer, &weights_buffer}, {&output_buffer});
}

template <class T>
mluOpStatus_t ThreeInterpolateForwardCall<T>::run() const {
  return mluOpThreeInterpolateForward(handle, features_desc, features, indices_desc, indices, weights_desc,
                                      weights, output_desc, output);
}

template ThreeInterpolateForwardInputs<float> random_three_interpolate_forward(const ThreeInterpolateForwardSizes&,
                                                                               std::mt19937&);
template ThreeInterpolateForwardInputs<Half> random_three_interpolate_forward(const ThreeInterpolateForwardSizes&,
                                                                              std::mt19937&);
template std::vector<float> three_interpolate_forward_reference(const ThreeInterpolateForwardInputs<float>&);
template std::vector<Half> three_interpolate_forward_reference(const ThreeInterpolateForwardInputs<Half>&);
template struct ThreeInterpolateForwardCall<float>;
template struct ThreeInterpolateForwardCall<Half>;

}  // namespace mluop::test

#include "ops/three_interpolate_backward/call.h"

#include "support/element.h"

namespace mluop::test {
template <class T>
ThreeInterpolateInputs<T> random_three_interpolate(const ThreeInterpolateSizes& sizes, std::mt19937& random) {
  ThreeInterpolateInputs<T> inputs{sizes, {}, {}, {}};
  // 24 bits, which fp32 represents exactly.
  const auto unit = [&] { return static_cast<float>(random() >> 8) * 0x1p-24F; };
  inputs.grad_output.reserve(static_cast<size_t>(sizes.grad_output_count()));
  for (int64_t i = 0; i < sizes.grad_output_count(); ++i) {
    inputs.grad_output.push_back(rounded_to<T>(unit() * 2 - 1));
  }
  for (int64_t i = 0; i < sizes.index_count(); ++i) {
    inputs.indices.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(sizes.M)));
    inputs.weights.push_back(rounded_to<T>(unit()));
  }
  return inputs;
}

template <class T>
std::vector<T> three_interpolate_reference(const ThreeInterpolateInputs<T>& inputs) {
  std::vector<T> grad_features(static_cast<size_t>(inputs.sizes.grad_features_count()));
  reference::three_interpolate_backward(inputs.sizes, inputs.grad_output.data(), inputs.indices.data(),
                                        inputs.weights.data(), grad_features.data());
  return grad_features;
}

template <class T>
ThreeInterpolateCall<T>::ThreeInterpolateCall(mluOpHandle_t with, const ThreeInterpolateInputs<T>& inputs,
                                              Placement placement)
    : GuardedCall(with),
      grad_output_buffer(inputs.grad_output, placement),
      indices_buffer(inputs.indices, placement),
      weights_buffer(inputs.weights, placement),
      grad_features_buffer(static_cast<size_t>(inputs.sizes.grad_features_count()), placement),
      own_grad_output_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.C, inputs.sizes.N}),
      own_indices_desc(MLUOP_DTYPE_INT32, {inputs.sizes.B, inputs.sizes.N, 3}),
      own_weights_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.N, 3}),
      own_grad_features_desc(kDtype<T>, {inputs.sizes.B, inputs.sizes.C, inputs.sizes.M}),
      grad_output_desc(own_grad_output_desc),
      indices_desc(own_indices_desc),
      weights_desc(own_weights_desc),
      grad_features_desc(own_grad_features_desc),
      grad_output(grad_output_buffer.data()),
      indices(indices_buffer.data()),
      weights(weights_buffer.data()),
      grad_features(grad_features_buffer.data()) {
  set_buffers({&grad_output_buffer, &indices_buffer, &weights_buffer}, {&grad_features_buffer});
}

template <class T>
mluOpStatus_t ThreeInterpolateCall<T>::run() const {
  return mluOpThreeInterpolateBackward(handle, grad_output_desc, grad_output, indices_desc, indices, weights_desc,
                                       weights, grad_features_desc, grad_features);
}

template ThreeInterpolateInputs<float> random_three_interpolate(const ThreeInterpolateSizes&, std::mt19937&);
template ThreeInterpolateInputs<Half> random_three_interpolate(const ThreeInterpolateSizes&, std::mt19937&);
template std::vector<float> three_interpolate_reference(const ThreeInterpolateInputs<float>&);
template std::vector<Half> three_interpolate_reference(const ThreeInterpolateInputs<Half>&);
template struct ThreeInterpolateCall<float>;
template struct ThreeInterpolateCall<Half>;

}  // namespace mluop::test

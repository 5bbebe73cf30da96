// A call of mluOpThreeInterpolateBackward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/three_interpolate_backward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

using ThreeInterpolateSizes = reference::ThreeInterpolateBackwardSizes;

// T: float or Half.
template <class T>
struct ThreeInterpolateInputs {
  ThreeInterpolateSizes sizes;
  std::vector<T> grad_output;
  std::vector<int32_t> indices;
  std::vector<T> weights;
};

// Gradients are in [-1, 1), weights in [0, 1), indices uniform.
template <class T>
ThreeInterpolateInputs<T> random_three_interpolate(const ThreeInterpolateSizes& sizes, std::mt19937& random);

// The result that the operator must return, bit for bit.
template <class T>
std::vector<T> three_interpolate_reference(const ThreeInterpolateInputs<T>& inputs);

template <class T>
struct ThreeInterpolateCall : GuardedCall {
  using Inputs = ThreeInterpolateInputs<T>;

  ThreeInterpolateCall(mluOpHandle_t handle, const ThreeInterpolateInputs<T>& inputs,
                       Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  std::vector<T> output() const { return grad_features_buffer.values(); }
  static constexpr ApiFunction<ThreeInterpolateCall> kOperator = {"mluOpThreeInterpolateBackward",
                                                                  &ThreeInterpolateCall::run};

  GuardedBuffer<T> grad_output_buffer;
  GuardedBuffer<int32_t> indices_buffer;
  GuardedBuffer<T> weights_buffer;
  GuardedBuffer<T> grad_features_buffer;
  Descriptor own_grad_output_desc, own_indices_desc, own_weights_desc, own_grad_features_desc;

  // The arguments of run(), initially the above.
  mluOpTensorDescriptor_t grad_output_desc, indices_desc, weights_desc, grad_features_desc;
  const void* grad_output;
  const void* indices;
  const void* weights;
  void* grad_features;
};

}  // namespace mluop::test

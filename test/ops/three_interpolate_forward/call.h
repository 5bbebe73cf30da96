// A call of mluOpThreeInterpolateForward in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/three_interpolate_forward.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

using ThreeInterpolateForwardSizes = reference::ThreeInterpolateForwardSizes;

// T: float or Half.
template <class T>
struct ThreeInterpolateForwardInputs {
  ThreeInterpolateForwardSizes sizes;
  std::vector<T> features;
  std::vector<int32_t> indices;
  std::vector<T> weights;
};

// Features are in [-1, 1), weights in [0, 1), indices uniform.
template <class T>
ThreeInterpolateForwardInputs<T> random_three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes,
                                                                  std::mt19937& random);

// The result that the operator must return, bit for bit.
template <class T>
std::vector<T> three_interpolate_forward_reference(const ThreeInterpolateForwardInputs<T>& inputs);

template <class T>
struct ThreeInterpolateForwardCall : GuardedCall {
  using Inputs = ThreeInterpolateForwardInputs<T>;

  ThreeInterpolateForwardCall(mluOpHandle_t handle, const Inputs& inputs,
                              Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  std::vector<T> results() const { return output_buffer.values(); }
  static constexpr ApiFunction<ThreeInterpolateForwardCall> kOperator = {"mluOpThreeInterpolateForward",
                                                                         &ThreeInterpolateForwardCall::run};

  GuardedBuffer<T> features_buffer;
  GuardedBuffer<int32_t> indices_buffer;
  GuardedBuffer<T> weights_buffer;
  GuardedBuffer<T> output_buffer;
  Descriptor own_features_desc, own_indices_desc, own_weights_desc, own_output_desc;

  // The arguments of run(), initially the above.
  mluOpTensorDescriptor_t features_desc, indices_desc, weights_desc, output_desc;
  const void* features;
  const void* indices;
  const void* weights;
  void* output;
};

}  // namespace mluop::test

// The floor of three interpolate backward: its arithmetic on squares of 16 points, or features, and 16 channels.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "reference/three_interpolate_backward.h"

namespace mluop::perf {

// Those of the call, which belong to the caller; the values of grad_features are as good as any.
struct InterpolateTensors {
  reference::ThreeInterpolateBackwardSizes sizes;
  bool half;
  const void* grad_output;
  const int32_t* indices;
  void* grad_features;
};

// For each whole square of grad_output: 16 loads, the transposition in registers, and 48 products added to the
// sums of their features; for each of grad_features: 16 loads, the transposition, 16 stores. Indices are decoded,
// weights [B, N, 3] copied, and points grouped by feature beforehand. It is the fastest of several ways: in the
// order of the points or by feature, with points fetched ahead or not, with the output in the caches or past them.
// Empty where there is no whole square.
std::function<void()> three_interpolate_backward_floor(const InterpolateTensors& tensors,
                                                       std::span<const float> weights, int threads);

}  // namespace mluop::perf

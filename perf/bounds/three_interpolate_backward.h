// The algorithmic bound of three interpolate backward: its arithmetic on squares of 16 points and 16 channels.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "mlu_op.h"
#include "reference/three_interpolate_backward.h"

namespace mluop::perf {

// The operands of a call. The caller owns them; grad_features is overwritten with unspecified values.
struct InterpolateTensors {
  reference::ThreeInterpolateBackwardSizes sizes;
  mluOpDataType_t dtype;
  const void* grad_output;
  const int32_t* indices;
  void* grad_features;
};

// Returns a function that, for each whole square of grad_output, does 16 loads, a transposition in registers and
// the addition of 48 products to the sums of their features; and for each whole square of grad_features 16 loads,
// a transposition and 16 stores. Decoding the indices and copying the weights [B, N, 3] are preparation, which
// also decides whether to prefetch. Returns an empty function if the tensors have no whole square, and for fewer
// than 96 features: grouping the points by feature is then faster.
std::function<void()> three_interpolate_backward_bound(const InterpolateTensors& tensors,
                                                       std::span<const float> weights, int threads);

}  // namespace mluop::perf

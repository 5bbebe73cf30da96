// The algorithmic bound of three interpolate backward: its arithmetic on squares of 16 points and 16 channels.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "reference/three_interpolate_backward.h"

namespace mluop::perf {

// The operands of a call. The caller owns them; grad_features is overwritten with unspecified values.
struct InterpolateTensors {
  reference::ThreeInterpolateBackwardSizes sizes;
  bool half;
  const void* grad_output;
  const int32_t* indices;
  void* grad_features;
};

// Returns a function that, for each whole square of grad_output, does 16 loads, a transposition in registers and
// the addition of 48 products to the sums of their features; and for each whole square of grad_features 16 loads,
// a transposition and 16 stores. Decoding the indices, copying the weights [B, N, 3] and grouping the points by
// feature are preparation, which also selects the fastest variant: additions in the order of the points or by
// feature, with or without prefetches, ordinary or non-temporal stores. Returns an empty function if the tensors
// have no whole square.
std::function<void()> three_interpolate_backward_bound(const InterpolateTensors& tensors,
                                                       std::span<const float> weights, int threads);

}  // namespace mluop::perf

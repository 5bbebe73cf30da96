// The floor of three interpolate backward: its arithmetic on squares of 16 points and 16 channels.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "reference/three_interpolate_backward.h"

namespace mluop::perf {

// For each whole square of grad_output: 16 loads, the transposition in registers, and 48 products added to the
// sums of the case's own features, points in their order or grouped by feature, whichever is faster; for each
// square of grad_features: 16 loads, the transposition, 16 stores. Squares of both are one that stays in the first
// level of the cache, so no memory is moved. Indices are decoded, weights widened and points grouped beforehand.
// indices and weights [B, N, 3] are copied; `half`: squares are of half. Empty where there is no whole square.
std::function<void()> three_interpolate_backward_floor(const reference::ThreeInterpolateBackwardSizes& sizes,
                                                       const int32_t* indices, std::span<const float> weights,
                                                       bool half, int threads);

}  // namespace mluop::perf

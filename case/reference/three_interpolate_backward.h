// Three interpolate backward by its definition: the serial loop over batches, channels and points. The oracle of
// the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

#include "reference/half.h"

namespace mluop::reference {

struct ThreeInterpolateBackwardSizes {
  int64_t B, C, N, M;

  int64_t grad_output_count() const { return B * C * N; }
  int64_t index_count() const { return B * N * 3; }
  int64_t grad_features_count() const { return B * C * M; }
};

// Products and sums in fp32, rounded to half once at the end. The library must return the same bits.
void three_interpolate_backward(const ThreeInterpolateBackwardSizes& sizes, const float* grad_output,
                                const int32_t* indices, const float* weights, float* grad_features);
void three_interpolate_backward(const ThreeInterpolateBackwardSizes& sizes, const Half* grad_output,
                                const int32_t* indices, const Half* weights, Half* grad_features);

// The sums in double.
void three_interpolate_backward(const ThreeInterpolateBackwardSizes& sizes, const float* grad_output,
                                const int32_t* indices, const float* weights, double* grad_features);
void three_interpolate_backward(const ThreeInterpolateBackwardSizes& sizes, const Half* grad_output,
                                const int32_t* indices, const Half* weights, double* grad_features);

}  // namespace mluop::reference

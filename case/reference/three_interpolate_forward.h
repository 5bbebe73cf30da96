// Three interpolate forward by its definition: the serial loop over batches, channels and points. The oracle of
// the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

#include "reference/half.h"

namespace mluop::reference {

struct ThreeInterpolateForwardSizes {
  int64_t B, C, M, N;

  int64_t features_count() const { return B * C * M; }
  int64_t index_count() const { return B * N * 3; }
  int64_t output_count() const { return B * C * N; }
};

// Products and sums in fp32, rounded to half once at the end. The library must return the same bits.
void three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes, const float* features,
                               const int32_t* indices, const float* weights, float* output);
void three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes, const Half* features,
                               const int32_t* indices, const Half* weights, Half* output);

// The sums in double.
void three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes, const float* features,
                               const int32_t* indices, const float* weights, double* output);
void three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes, const Half* features,
                               const int32_t* indices, const Half* weights, double* output);

}  // namespace mluop::reference

// Three interpolate backward by its definition: the serial loop over batches, channels and points. The oracle of
// the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct ThreeInterpolateBackwardSizes {
  int64_t B, C, N, M;

  int64_t grad_output_count() const { return B * C * N; }
  int64_t index_count() const { return B * N * 3; }
  int64_t grad_features_count() const { return B * C * M; }
};

// T: float, Half or BFloat16. Output: double for sums in double; T for products and sums in fp32, rounded once at
// the end, whose bits the library must return.
template <class T, class Output>
void three_interpolate_backward(const ThreeInterpolateBackwardSizes& sizes, const T* grad_output,
                                const int32_t* indices, const T* weights, Output* grad_features);

}  // namespace mluop::reference

// Three interpolate forward by its definition: the serial loop over batches, channels and points. The oracle of
// the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct ThreeInterpolateForwardSizes {
  int64_t B, C, M, N;
};

// T: float, Half or BFloat16. Output: double for sums in double; T for products and sums in fp32, rounded once at
// the end, whose bits the library must return.
template <class T, class Output>
void three_interpolate_forward(const ThreeInterpolateForwardSizes& sizes, const T* features,
                               const int32_t* indices, const T* weights, Output* output);

}  // namespace mluop::reference

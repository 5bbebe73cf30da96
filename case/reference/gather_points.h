// Gather points forward and backward by their definitions: serial loops over batches, channels and points. The
// oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct GatherPointsSizes {
  int64_t B, C, N, M;  // batches, channels, features, points
};

// T: an unsigned integer with the size of an element, for copies of any bits.
template <class T>
void gather_points_forward(const GatherPointsSizes& sizes, const T* features, const int32_t* indices, T* output);

// T: float, Half or BFloat16. Output: double for sums in double; T for sums in fp32, rounded once at the end,
// whose bits the library must return.
template <class T, class Output>
void gather_points_backward(const GatherPointsSizes& sizes, const T* grad_output, const int32_t* indices,
                            Output* grad_features);

}  // namespace mluop::reference

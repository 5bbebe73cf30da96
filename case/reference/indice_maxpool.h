// Indice max pooling forward and backward by their definitions: serial loops over offsets and pairs. The oracle of
// the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct IndiceMaxpoolProblem {
  int64_t K, L, N, M, C;  // offsets, maximum pairs of an offset, rows of features and of features_out, channels
  const int32_t* indice_pairs;  // [K, 2, L]
  const int64_t* indice_num;    // [K]
};

// T: float, Half or BFloat16. The library must return the same bits.
template <class T>
void indice_maxpool_forward(const IndiceMaxpoolProblem& problem, const T* features, T* features_out);

// Output: double for sums in double; T for sums in fp32, rounded to half once at the end, whose bits the library
// must return.
template <class T, class Output>
void indice_maxpool_backward(const IndiceMaxpoolProblem& problem, const T* features, const T* features_out,
                             const T* output_grad, Output* input_grad);

}  // namespace mluop::reference

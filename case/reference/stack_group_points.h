// Stack group points forward and backward by their definitions: serial loops over clouds, groups, channels and
// samples. The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct StackGroupPointsProblem {
  int64_t B, C, S;  // clouds, channels, samples of a group
  const int32_t *features_batch_cnt, *indices_batch_cnt, *indices;
};

// T: an unsigned integer with the size of an element, for copies of any bits.
template <class T>
void stack_group_points_forward(const StackGroupPointsProblem& problem, const T* features, T* output);

// T: float, Half or BFloat16. Output: double for sums in double; T for sums in fp32, rounded once at the end,
// whose bits the library must return.
template <class T, class Output>
void stack_group_points_backward(const StackGroupPointsProblem& problem, const T* grad_output,
                                 Output* grad_features);

}  // namespace mluop::reference

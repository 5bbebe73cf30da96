// Oracle of sigmoid focal loss: the loss of each class of each row, and its derivative.
#pragma once

#include <cstdint>

namespace mluop::reference {

// Letters as in mluOpFocalLossSigmoidForward.
struct FocalLossSigmoidProblem {
  int64_t N, C;
  float alpha, gamma;
  bool is_derivative;
  const int32_t* target;  // [N]
};

// Writes output [N, C] from input [N, C] and weight [C], or null. The probability is rounded to float; the rest is
// double. T: float, Half or BFloat16.
template <class T>
void focal_loss_sigmoid(const FocalLossSigmoidProblem& problem, const T* input, const T* weight, T* output);

}  // namespace mluop::reference

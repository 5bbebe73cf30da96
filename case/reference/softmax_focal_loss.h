// Oracle of softmax focal loss: the loss of each row, and its gradient with respect to the logits.
#pragma once

#include <cstdint>

namespace mluop::reference {

// Letters as in mluOpOmpSoftmaxFocalLossForward.
struct SoftmaxFocalLossProblem {
  int64_t N, C;
  float alpha, gamma;
  bool is_backward;
  const int32_t* target;  // [N]
};

// From softmax [N, C] and weight [C], or null, writes factors [N]: the losses, or the factors of the gradients;
// backward also writes grad_input [N, C]. Computed in double; gradients take the factor rounded to float. T: an
// element type.
template <class T>
void softmax_focal_loss(const SoftmaxFocalLossProblem& problem, const T* softmax, const T* weight, T* factors,
                        T* grad_input);

}  // namespace mluop::reference

// Oracle of AdamW: the serial loop of the definition.
#pragma once

#include <cstdint>

#include "reference/element.h"

namespace mluop::reference {

struct AdamWProblem {
  int64_t count;
  float lr, beta1, beta2, bias1, bias2, epsilon, weight_decay, scale;
  bool removes_nan;
};

// Updates param, momentum and velocity, all [count]. Each operation is rounded to float. paramh: [count]; null:
// not written. Grad: float or BFloat16.
template <class Grad>
void adamw(const AdamWProblem& problem, const Grad* grad, float* param, float* momentum, float* velocity,
           BFloat16* paramh);

}  // namespace mluop::reference

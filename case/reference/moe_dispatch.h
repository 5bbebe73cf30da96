// Oracles of MoE dispatch and its gradients: the serial loops of the definitions.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct MoeDispatchProblem {
  int64_t samples, capacity, hidden, experts;
  const int32_t *indices, *locations;  // [samples]
};

// input: [samples, hidden]; dispatch: [experts * capacity, hidden]; rows without a sample are unchanged.
void moe_dispatch_forward(const MoeDispatchProblem& problem, const float* gates, const float* input,
                          float* dispatch);
void moe_dispatch_backward_gate(const MoeDispatchProblem& problem, const float* input, const float* dispatch,
                                double* grad_gates);
void moe_dispatch_backward_data(const MoeDispatchProblem& problem, const float* gates, const float* dispatch,
                                float* grad_input);

}  // namespace mluop::reference

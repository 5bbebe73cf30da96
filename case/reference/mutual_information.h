// Mutual information by its definition, in double from cells that are rounded to fp32: the oracle of the tests.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct MutualInformationProblem {
  int64_t B, S, T;
  const float* px;          // [B, S, T + 1]
  const float* py;          // [B, S + 1, T]
  const int64_t* boundary;  // [B, 4]; null: (0, 0, S, T)
};

// Writes the cells of p [B, S + 1, T + 1] within the boundaries, and ans [B].
void mutual_information_forward(const MutualInformationProblem& problem, float* p, float* ans);

// Writes px_grad and py_grad; ans_grad [B] if it is overwritten. Exponents are rounded to fp32.
void mutual_information_backward(const MutualInformationProblem& problem, const float* p, float* ans_grad,
                                 bool overwrites, float* px_grad, float* py_grad);

}  // namespace mluop::reference

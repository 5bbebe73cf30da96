#include "reference/moe_dispatch.h"

namespace mluop::reference {
namespace {

// Calls visit(sample, element of dispatch, element of input) for each number of the samples that are not skipped.
template <class Visit>
void for_each_number(const MoeDispatchProblem& problem, const Visit& visit) {
  for (int64_t i = 0; i < problem.samples; ++i) {
    const int64_t expert = problem.indices[i], location = problem.locations[i];
    if (expert < 0 || expert >= problem.experts || location < 0 || location >= problem.capacity) continue;
    for (int64_t j = 0; j < problem.hidden; ++j) {
      visit(i, (expert * problem.capacity + location) * problem.hidden + j, i * problem.hidden + j);
    }
  }
}

}  // namespace

void moe_dispatch_forward(const MoeDispatchProblem& problem, const float* gates, const float* input,
                          float* dispatch) {
  for_each_number(problem, [=](int64_t i, int64_t to, int64_t from) { dispatch[to] = gates[i] * input[from]; });
}

void moe_dispatch_backward_gate(const MoeDispatchProblem& problem, const float* input, const float* dispatch,
                                double* grad_gates) {
  for (int64_t i = 0; i < problem.samples; ++i) grad_gates[i] = 0;
  for_each_number(problem, [=](int64_t i, int64_t from, int64_t of_input) {
    grad_gates[i] += double{dispatch[from]} * double{input[of_input]};
  });
}

void moe_dispatch_backward_data(const MoeDispatchProblem& problem, const float* gates, const float* dispatch,
                                float* grad_input) {
  for (int64_t i = 0; i < problem.samples * problem.hidden; ++i) grad_input[i] = 0;
  for_each_number(problem,
                  [=](int64_t i, int64_t from, int64_t to) { grad_input[to] = gates[i] * dispatch[from]; });
}

}  // namespace mluop::reference

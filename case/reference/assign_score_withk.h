// Assign score with k, forward and backward, by their definitions: serial loops that round each operation to fp32
// and results once to the data type. The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// B batches, N0 points, N1 centers with K neighbors each, M kernels, O channels.
struct AssignScoreProblem {
  int64_t B, N0, N1, M, K, O;
  const int32_t* knn_idx;  // [B, N1, K]
};

// T: float, Half or BFloat16. The library must return the same bits.
template <class T>
struct AssignScoreInputs {
  const T *points, *centers;  // [B, N0, M, O]
  const T* scores;            // [B, N1, K, M]
};

template <class T>
void assign_score_withk_forward(const AssignScoreProblem& problem, const AssignScoreInputs<T>& inputs, T* output);

template <class T>
void assign_score_withk_backward(const AssignScoreProblem& problem, const AssignScoreInputs<T>& inputs,
                                 const T* grad_output, T* grad_points, T* grad_centers, T* grad_scores);

}  // namespace mluop::reference

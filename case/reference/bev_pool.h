// BEV pool, forward and backward, by their definitions: serial loops that round each operation to fp32 and results
// once to the data type. The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// P points, D elements of depth, F rows of features, M cells, C channels.
struct BevPoolProblem {
  int64_t P, D, F, M, C;
  const int32_t *ranks_depth, *ranks_feat, *ranks_bev;  // [P]; a point with cell -1 is skipped
};

// T: float, Half or BFloat16. The library must return the same bits.
template <class T>
void bev_pool_forward(const BevPoolProblem& problem, const T* depth, const T* features, T* output);

template <class T>
void bev_pool_backward(const BevPoolProblem& problem, const T* grad_output, const T* depth, const T* features,
                       T* grad_depth, T* grad_features);

}  // namespace mluop::reference

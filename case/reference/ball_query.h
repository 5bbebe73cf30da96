// Ball query and stacked ball query by their definitions: serial loops over batches, centers and points. The
// oracles of the tests and the baselines of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct BallQueryProblem {
  int64_t B, M, N, nsample;
  float min_radius, max_radius;
};

// T: float, Half or BFloat16. Each difference, product and sum is rounded to half for Half, otherwise to fp32. The
// library must return the same indices, and leave rows without a member unchanged.
template <class T>
void ball_query(const BallQueryProblem& problem, const T* new_xyz, const T* xyz, int32_t* idx);

// Stacked clouds, with the counts of their centers and points.
struct StackBallQueryProblem {
  int64_t B, nsample;
  const int32_t *new_xyz_batch_cnt, *xyz_batch_cnt;
  float max_radius;
};

// The same for stacked clouds; rows without a member are -1, 0, 0, ...
template <class T>
void stack_ball_query(const StackBallQueryProblem& problem, const T* new_xyz, const T* xyz, int32_t* idx);

}  // namespace mluop::reference

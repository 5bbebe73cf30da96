// Ball query by its definition: the serial loop over batches, centers and points. The oracle of the tests and the
// baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct BallQueryProblem {
  int64_t B, M, N, nsample;
  float min_radius, max_radius;
};

// T: float or Half. Each difference, product and sum is rounded to it. The library must return the same indices,
// and leave rows without a member as they are.
template <class T>
void ball_query(const BallQueryProblem& problem, const T* new_xyz, const T* xyz, int32_t* idx);

}  // namespace mluop::reference

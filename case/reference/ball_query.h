// Ball query by its definition: the serial loop over batches, centers and points. The oracle of the tests and the
// baseline of the perf suite.
#pragma once

#include <cstdint>

#include "reference/half.h"

namespace mluop::reference {

struct BallQueryProblem {
  int64_t B, M, N, nsample;
  float min_radius, max_radius;

  int64_t centers_count() const { return B * M * 3; }
  int64_t points_count() const { return B * N * 3; }
  int64_t idx_count() const { return B * M * nsample; }
};

// Each difference, product and sum is rounded to the element type. The library must return the same indices, and
// leave rows without a member as they are.
void ball_query(const BallQueryProblem& problem, const float* new_xyz, const float* xyz, int32_t* idx);
void ball_query(const BallQueryProblem& problem, const Half* new_xyz, const Half* xyz, int32_t* idx);

}  // namespace mluop::reference

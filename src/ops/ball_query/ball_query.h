// Ball query and stacked ball query: the algorithm and the arguments of a call.
//
// Letters as in the design document: B batches, M centers, N points. With d2 the squared distance to the center,
// the members of a ball are the points with d2 < max_radius^2; the members of a shell are the points with d2 = 0
// or min_radius^2 <= d2 < max_radius^2. Differences, squares and sums are rounded to the element type, squares of
// radii to fp32.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::ball_query {

// The arguments of the call, checked.
struct Args {
  int64_t center_count() const { return B * M; }

  int64_t B, M, N, nsample;
  mluOpDataType_t dtype;  // of new_xyz and xyz
  bool is_ball;           // false: a shell
  float min_squared_radius, max_squared_radius;
  bool marks_empty;     // a row without a member becomes -1, 0, 0, ...; false: it is unchanged
  const void* new_xyz;  // [B, M, 3], the centers
  const void* xyz;      // [B, N, 3], the points
  int32_t* idx;         // [B, M, nsample]
};

// Stacked clouds: the centers, points and rows of idx of all clouds, one cloud after another.
struct StackArgs {
  int64_t clouds;
  const int32_t* center_counts;  // [clouds]
  const int32_t* point_counts;   // [clouds]
  Args first;                    // the query of the first cloud as one batch, except M and N
};

namespace native {

// Compute the output. Throw std::bad_alloc before they write it.
void run(Call& call, const Args& args);
void run_stacked(Call& call, const StackArgs& stack);

}  // namespace native
}  // namespace mluop::ball_query

// Ball query: the arguments of a call.
//
// Letters as in the design document: B batches, M centers, N points. A point is a member of a ball if its squared
// distance d2 to the center is 0 or min_radius^2 <= d2 < max_radius^2. Differences, squares and sums are rounded
// to the element type, the squares of the radii to fp32.
#pragma once

#include <cstdint>

#include "mlu_op.h"

namespace mluop::ball_query {

// The arguments of the call, checked.
struct Args {
  int64_t center_count() const { return B * M; }

  int64_t B, M, N, nsample;
  mluOpDataType_t dtype;  // of new_xyz and xyz
  float min_squared_radius, max_squared_radius;
  const void* new_xyz;  // [B, M, 3], the centers
  const void* xyz;      // [B, N, 3], the points
  int32_t* idx;         // [B, M, nsample]
};

}  // namespace mluop::ball_query

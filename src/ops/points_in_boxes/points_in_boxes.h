// Points in boxes: the arguments of a call of any of the three operators.
//
// Letters: B batches, M points, T boxes. A box is x, y, z, dx, dy, dz, yaw.
#pragma once

#include <cstdint>

#include "primitives/geometry/point_boxes.h"
#include "team/operator_call.h"

namespace mluop::points_in_boxes {

// The result for a point.
enum class Result {
  kFirstBox,  // the lowest index of a box that contains it, or -1
  kEachBox    // for each box: 1 if it contains the point, otherwise 0
};

// The arguments of the call, checked.
struct Args {
  int64_t B, M, T;
  BoxRule rule;
  Result result;
  const float* points;  // [B, M, 3]
  const float* boxes;   // [B, T, 7]
  int32_t* results;     // [B, M] or, for each box, [B, M, T]
};

namespace native {

// Computes the output, which has elements. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::points_in_boxes

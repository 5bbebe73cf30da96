// Points in boxes: the launches of the native algorithm. The first computes what the tests of a box share, and its
// bounds; then each group of points is compared with the bounds of all boxes, and tested with those that it meets.
#pragma once

#include "ops/points_in_boxes/points_in_boxes_args.h"
#include "team/operator_call.h"

namespace mluop::points_in_boxes::native {

// Computes the output, which has elements. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace mluop::points_in_boxes::native

// Stack group points: the launches of the native algorithm. The first ones check the indices of each cloud, the
// last copies, or sums. Memory: two or three numbers a cloud, and a tile in NRAM.
#pragma once

#include "ops/stack_group_points/stack_group_points_args.h"
#include "team/operator_call.h"

namespace mluop::stack_group_points::native {

// Compute the output. Throw before they write it: Failure with BAD_PARAM if an index is not of a feature of its
// cloud, or if the bytes of all tensors exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace mluop::stack_group_points::native

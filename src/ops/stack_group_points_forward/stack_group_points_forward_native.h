// Stack group points forward, native algorithm: its launches. The first ones check the indices of each cloud, the
// last copies. Memory: two numbers a cloud, and a tile in NRAM.
#pragma once

#include "ops/stack_group_points_forward/stack_group_points_forward_args.h"
#include "team/operator_call.h"

namespace mluop::stack_group_points_forward::native {

// Computes the output. Throws before it writes the output: Failure with BAD_PARAM if an index is not of a feature
// of its cloud, or if the bytes of all tensors exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::stack_group_points_forward::native

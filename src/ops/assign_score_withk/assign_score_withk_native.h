// Assign score with k: the launches of the native algorithm. Forward is one launch over the rows of all batches.
// Backward sorts the rows of each batch by their points, then takes one batch after the other: one launch
// transposes its gradients and computes the gradients of scores, two more add the rows of each point and center.
#pragma once

#include "ops/assign_score_withk/assign_score_withk_args.h"
#include "team/operator_call.h"

namespace mluop::assign_score_withk::native {

// Compute the outputs. Throw before they write one: Failure with BAD_PARAM if an index is outside [0, N0), or if
// the bytes of all tensors or of the memory exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace mluop::assign_score_withk::native

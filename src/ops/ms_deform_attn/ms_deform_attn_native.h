// Multi-scale deformable attention: the launches of the native algorithm. Forward is one launch over queries.
// Backward is one over queries, for the gradients of locations and weights, and one over heads, whose owners add
// the gradients of their keys in the order of queries.
#pragma once

#include "ops/ms_deform_attn/ms_deform_attn_args.h"
#include "team/operator_call.h"

namespace mluop::ms_deform_attn::native {

// Compute the outputs. Throw before they write one: Failure with BAD_PARAM if the bytes of all tensors exceed
// int64_t, with ALLOC_FAILED if the samples of a head do not fit NRAM, and std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace mluop::ms_deform_attn::native

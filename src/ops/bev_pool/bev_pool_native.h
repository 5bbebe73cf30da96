// BEV pool: the launches of the native algorithm. Two check the points and sort them, forward by cell and backward
// by row of features, so that a task owns each sum; the last compute the sums, each in the order of points.
#pragma once

#include <string_view>

#include "ops/bev_pool/bev_pool_args.h"
#include "team/operator_call.h"

namespace mluop::bev_pool {

// Points, rows of features and rows of the tensor `output` are numbered by int32_t: NOT_SUPPORTED.
void check_counts(int64_t P, int64_t F, std::string_view output, int64_t M);

namespace native {

// Compute the results. Throw before they write them: Failure with BAD_PARAM if a number of a point is out of
// bounds, and std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::bev_pool

// BEV pool: the algorithm and the arguments of both operators.
//
// Letters: P points, D elements of depth, F rows of features, M rows of the output, C channels.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::bev_pool {

// Arguments are checked, except for the indices of the points.
struct Points {
  int64_t P, D, F, M, C;
  mluOpDataType_t dtype;
  const int32_t *ranks_depth, *ranks_feat, *ranks_bev;  // [P]
  const void* depth;                                    // [D]
};

struct ForwardArgs : Points {
  const void* features;  // [F, C]
  void* output;          // [M, C]
};

struct BackwardArgs : Points {
  const void* grad_output;  // [M, C]
  const void* features;     // [F, C]
  void* grad_depth;         // [D]
  void* grad_features;      // [F, C]
};

// Throws Failure with NOT_SUPPORTED if there are more points, rows of features or rows of the tensor `output` than
// int32_t can number.
void check_counts(int64_t P, int64_t F, std::string_view output, int64_t M);

namespace native {

// Compute the results. Throw before they write them: Failure with BAD_PARAM if a number of a point is out of
// bounds, and std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::bev_pool

// Stack group points: the algorithm and the arguments of a call, forward and backward.
//
// Letters: B clouds, N features and M groups of all clouds, C channels, S samples of a group.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/indices/cloud_indices.h"
#include "team/operator_call.h"

namespace mluop::stack_group_points {

// The arguments of both operators, checked except for the values of the indices. At least one element is written.
struct Args {
  int64_t M, N, C;
  mluOpDataType_t dtype;  // of all tensors except counts and indices
  CloudIndices groups;    // groups of S samples
};

// Elements are copied bit by bit.
struct ForwardArgs : Args {
  const void* features;  // [N, C]
  void* output;          // [M, C, S]
};

struct BackwardArgs : Args {
  const void* grad_output;  // [M, C, S]
  void* grad_features;      // [N, C]
};

namespace native {

// Compute the output. Throw before they write it: Failure with BAD_PARAM if an index names no feature of its
// cloud, or if the bytes of all tensors exceed int64_t, with ALLOC_FAILED if no tile fits NRAM, and
// std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::stack_group_points

// Stack group points backward: the arguments of a call.
//
// Letters: B clouds, N features and M groups of all clouds, C channels, S samples of a group.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/cloud_indices.h"

namespace mluop::stack_group_points_backward {

// The arguments of the call, checked except for the values of the indices. There are gradients to write.
struct Args {
  int64_t M, N, C;
  mluOpDataType_t dtype;    // of grad_output and grad_features
  CloudIndices groups;      // of S samples
  const void* grad_output;  // [M, C, S]
  void* grad_features;      // [N, C]
};

}  // namespace mluop::stack_group_points_backward

// Stack group points: the arguments of a call, forward and backward.
//
// Letters: B clouds, N features and M groups of all clouds, C channels, S samples of a group.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/cloud_indices.h"

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

}  // namespace mluop::stack_group_points

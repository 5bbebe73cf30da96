// Stack group points forward: the arguments of a call.
//
// Letters: B clouds, N features and M groups of all clouds, C channels, S samples of a group. Elements are copied
// bit by bit.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/cloud_indices.h"

namespace mluop::stack_group_points_forward {

// The arguments of the call, checked except for the values of the indices. There are elements to copy.
struct Args {
  int64_t M, N, C;
  mluOpDataType_t dtype;  // of features and output
  CloudIndices groups;    // of S samples
  const void* features;   // [N, C]
  void* output;           // [M, C, S]
};

}  // namespace mluop::stack_group_points_forward

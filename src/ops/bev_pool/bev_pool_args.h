// BEV pool: the arguments of both operators.
//
// Letters: P points, D elements of depth, F rows of features, M rows of the output, C channels.
#pragma once

#include <cstdint>

#include "mlu_op.h"

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

}  // namespace mluop::bev_pool

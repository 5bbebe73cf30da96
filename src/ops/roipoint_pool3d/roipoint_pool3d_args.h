// RoI-point pooling: the arguments of a call.
//
// Letters: B batches, N points, M boxes, C channels of features, S sampled points of a box.
#pragma once

#include <cstdint>

#include "mlu_op.h"

namespace mluop::roipoint_pool3d {

struct Sizes {
  int64_t B, N, M, C, S;

  // The elements of a sampled point: its coordinates and its features.
  int64_t row() const { return 3 + C; }
};

// The arguments of the call, checked.
struct Args : Sizes {
  mluOpDataType_t dtype;
  const void* points;          // [B, N, 3]
  const void* point_features;  // [B, N, C]
  const void* boxes3d;         // [B, M, 7]
  void* pooled_features;       // [B, M, S, 3 + C]
  int32_t* pooled_empty_flag;  // [B, M]
};

}  // namespace mluop::roipoint_pool3d

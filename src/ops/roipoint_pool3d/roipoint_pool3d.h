// RoI-point pooling: the algorithm and the arguments of a call.
//
// Letters: B batches, N points, M boxes, C channels of features, S sampled points of a box.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

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

namespace native {

// The bytes of the workspace. Throws Failure (BAD_PARAM) if they exceed int64_t.
size_t workspace_bytes(const Sizes& sizes);

// Computes the outputs in the workspace that `arena` has. Throws, before it writes them, std::bad_alloc, and
// Failure with ALLOC_FAILED if a sampled point does not fit NRAM.
void run(Call& call, const Args& args, Arena arena);

}  // namespace native
}  // namespace mluop::roipoint_pool3d

// Gather points backward: the arguments of a call.
//
// Letters as in gather points forward: B batches, C channels, M points, N features. The sum of a feature starts at
// +0 and adds the gradients of its points in the order of the indices, in fp32: the bits of the serial loop.
#pragma once

#include <cstdint>
#include <span>

#include "mlu_op.h"

namespace mluop::gather_points_backward {

// The arguments of the call, checked except for the values of the indices. There is at least one feature; there
// may be no point.
struct Args {
  int64_t index_count() const { return B * M; }

  int64_t B, C, M, N;
  mluOpDataType_t dtype;                   // of both gradients
  std::span<const int64_t> indices_shape;  // [B, M] or [B, P, S]
  const void* grad_output;                 // [B, C, M]
  const int32_t* indices;                  // [B, M]
  void* grad_features;                     // [B, C, N]
};

}  // namespace mluop::gather_points_backward

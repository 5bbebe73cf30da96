// Gather points backward: the algorithm and the arguments of a call.
//
// Letters as in gather points forward: B batches, C channels, M points, N features. The sum of a feature starts at
// +0 and adds the gradients of its points in the order of the indices, in fp32: the bits of the serial loop.
#pragma once

#include <cstdint>
#include <span>

#include "mlu_op.h"
#include "team/operator_call.h"

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

namespace native {

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, N), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::gather_points_backward

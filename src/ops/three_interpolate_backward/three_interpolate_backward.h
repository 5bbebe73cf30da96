// Three interpolate backward: the algorithms and the arguments of a call.
//
// Letters as in the design document: B batches, C channels, N points, M features; Co, No and Mo are the channels,
// points and features of a tile. An element of `indices` is a pair: it adds the channels of its point, times its
// weight, to its feature. The sum of a feature starts at +0 and adds the rounded products in fp32, in the order of
// `indices`: bit-identical to the serial loop.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::three_interpolate_backward {

// The arguments of the call, checked except for the values of the indices.
struct Args {
  int64_t index_count() const { return B * N * 3; }

  int64_t B, C, N, M;
  mluOpDataType_t dtype;    // of all tensors except the indices
  const void* grad_output;  // [B, C, N]
  const int32_t* indices;   // [B, N, 3]
  const void* weights;      // [B, N, 3]
  void* grad_features;      // [B, C, M]
};

namespace native {

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, M), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace native

namespace device {

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, M), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace device
}  // namespace mluop::three_interpolate_backward

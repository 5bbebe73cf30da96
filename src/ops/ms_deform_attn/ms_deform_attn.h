// Multi-scale deformable attention: the algorithm and the arguments of a call, forward and backward.
//
// Letters: B batches, K keys of all levels, M heads of D channels, L levels, Q queries with P points on each
// level.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "team/operator_call.h"

namespace mluop::ms_deform_attn {

struct Sizes {
  int64_t samples() const { return L * P; }

  int64_t B, K, M, D, L, Q, P;
};

// The inputs of both operators, checked.
struct Inputs : Sizes {
  // The index of (batch, query, head).
  int64_t place(int64_t b, int64_t q, int64_t head) const { return (b * Q + q) * M + head; }
  // The values of the head of a place, at the first key.
  const float* head_of(int64_t place) const { return value + (place / M / Q * K * M + place % M) * D; }

  const float* value;      // [B, K, M, D]
  const int32_t* shapes;   // [L, 2]: height, width
  const int32_t* starts;   // [L]: the first key of a level
  const float* locations;  // [B, Q, M, L, P, 2]: x, y
  const float* weights;    // [B, Q, M, L, P]
};

struct ForwardArgs : Inputs {
  float* output;  // [B, Q, M, D]
};

struct BackwardArgs : Inputs {
  const float* grad_output;  // [B, Q, M, D]
  float* grad_value;         // [B, K, M, D]
  float* grad_locations;     // [B, Q, M, L, P, 2]
  float* grad_weights;       // [B, Q, M, L, P]
};

namespace native {

// Compute the outputs. Throw before they write one: Failure with BAD_PARAM if the bytes of all tensors exceed
// int64_t, with ALLOC_FAILED if the samples of a head do not fit NRAM, and std::bad_alloc.
void run_forward(Call& call, const ForwardArgs& args);
void run_backward(Call& call, const BackwardArgs& args);

}  // namespace native
}  // namespace mluop::ms_deform_attn

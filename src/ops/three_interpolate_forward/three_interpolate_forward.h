// Three interpolate forward: the algorithm and the arguments of a call.
//
// Letters as in the design document: B batches, C channels, M features, N points. A point is the weighted sum of
// three features: products are rounded, then added in fp32 in the order of the slots.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::three_interpolate_forward {

// The arguments of the call, checked except for the values of the indices.
struct Args {
  int64_t index_count() const { return B * N * 3; }

  int64_t B, C, M, N;
  mluOpDataType_t dtype;   // of all tensors except the indices
  const void* features;    // [B, C, M]
  const int32_t* indices;  // [B, N, 3]
  const void* weights;     // [B, N, 3]
  void* output;            // [B, C, N]
};

namespace native {

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, M), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::three_interpolate_forward

// Gather points forward: the algorithm and the arguments of a call.
//
// Letters: B batches, C channels, N features of a batch, M gathered points (P x S for indices [B, P, S]). Elements
// are copied bit by bit.
#pragma once

#include <cstdint>
#include <span>

#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::gather_points_forward {

// The arguments of the call, checked except for the values of the indices. At least one element is gathered.
struct Args {
  int64_t index_count() const { return B * M; }

  int64_t B, C, N, M;
  mluOpDataType_t dtype;                   // of features and output
  std::span<const int64_t> indices_shape;  // [B, M] or [B, P, S]
  const void* features;                    // [B, C, N]
  const int32_t* indices;                  // [B, M]
  void* output;                            // [B, C, M]
};

namespace native {

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, N), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::gather_points_forward

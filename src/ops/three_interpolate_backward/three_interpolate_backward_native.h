// Three interpolate backward, native algorithm: the decisions of a call, and its launches.
#pragma once

#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::three_interpolate_backward::native {

struct Plan {
  int group_task_dim;  // of group_kernel()
  int task_dim;        // of sum_kernel() or direct_kernel()
  bool grouped;        // group_kernel() and sum_kernel()
  bool stream;         // the output bypasses the caches
  bool prefetch;       // points come from memory
  Tiling tiling;
};

// Throws Failure: ALLOC_FAILED if the smallest tile does not fit NRAM, BAD_PARAM if the bytes of all tensors
// together exceed int64_t.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, M), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::three_interpolate_backward::native

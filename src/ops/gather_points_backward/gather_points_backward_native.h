// Gather points backward, native algorithm: the decisions of a call, and its launches. The first checks the
// indices, the second sums. The only memory is a tile in NRAM.
#pragma once

#include <cstdint>

#include "ops/gather_points_backward/gather_points_backward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::gather_points_backward::native {

struct Plan {
  int task_dim;
  int64_t features;  // of a tile, a multiple of kStripChannels
  bool stream;       // the output bypasses the caches
  bool prefetch;     // points come from memory
};

// Throws Failure: ALLOC_FAILED if the smallest tile does not fit NRAM, BAD_PARAM if the bytes of all tensors
// together exceed int64_t.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws, before it writes the output: what make_plan() throws, Failure with BAD_PARAM if an
// index is outside [0, N), and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::gather_points_backward::native

// Dynamic scatter backward: the decisions of a call, and its launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_scatter_backward/native/kernels.h"
#include "team/operator_call.h"

namespace mluop::dynamic_scatter_backward::native {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, with any number of
// voxels up to that of points and any number of threads. Sum and mean need none.
size_t workspace_bytes(mluOpReduceMode_t reduce_type, int64_t points, int64_t channels);

struct Plan {
  int task_dim;
  int64_t tile_points;  // maximum: points in NRAM at a time
  bool stream;          // the output bypasses the caches
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws what make_plan() throws, Failure with BAD_PARAM if a value of the map or a count is
// invalid, and std::bad_alloc, before it writes it.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::dynamic_scatter_backward::native

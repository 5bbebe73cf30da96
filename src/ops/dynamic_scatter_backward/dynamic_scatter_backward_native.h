// Dynamic scatter backward, native algorithm: its workspace and its launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_args.h"
#include "team/operator_call.h"

namespace mluop::dynamic_scatter_backward::native {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, with any number of
// voxels up to `points` and any number of threads. Sum and mean need none.
size_t workspace_bytes(mluOpReduceMode_t reduce_type, int64_t points, int64_t channels);

// Computes the output. Before it writes the output, it throws Failure with ALLOC_FAILED if the smallest tile does
// not fit NRAM and with BAD_PARAM if a value of the map or a count is invalid, and std::bad_alloc.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::dynamic_scatter_backward::native

// Dynamic scatter backward, device algorithm (plan one of the design document): its workspace and its launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_args.h"
#include "team/operator_call.h"

namespace mluop::dynamic_scatter_backward::device {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, for any number of
// voxels up to `points`.
size_t workspace_bytes(int64_t points, int64_t channels);

// Computes the output. Before writing it, throws Failure with BAD_PARAM if a map value is invalid, and
// std::bad_alloc.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::dynamic_scatter_backward::device

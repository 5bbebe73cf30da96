// Dynamic scatter backward, device algorithm, which is plan one of the design document: its workspace and its
// launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_args.h"
#include "team/operator_call.h"

namespace mluop::dynamic_scatter_backward::device {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, with any number of
// voxels up to that of points.
size_t workspace_bytes(int64_t points, int64_t channels);

// Computes the output. Throws Failure with BAD_PARAM if a value of the map is invalid, and std::bad_alloc, before
// it writes it.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::dynamic_scatter_backward::device

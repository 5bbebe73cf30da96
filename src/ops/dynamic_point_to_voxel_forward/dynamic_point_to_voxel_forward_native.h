// Dynamic point to voxel forward, native algorithm: its workspace and its launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward_args.h"
#include "team/operator_call.h"

namespace mluop::dynamic_point_to_voxel_forward::native {

// Bytes of the caller's workspace for `points` points, at least 1: at any address, with any number of voxels and
// threads.
size_t workspace_bytes(int64_t points);

// Computes the outputs. Throws Failure with BAD_PARAM if there are more voxels than max_voxels, and
// std::bad_alloc, before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::dynamic_point_to_voxel_forward::native

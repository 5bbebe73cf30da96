// Dynamic scatter backward: what is decided once a call, and the launches that carry it out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "team/context.h"

namespace mluop::dynamic_scatter_backward {

// Bytes of the caller's workspace that suffice for `points` points of `channels` channels: in both modes, at any
// address, with any number of voxels and of threads.
size_t workspace_bytes(int32_t points, int64_t channels);

struct Plan {
  bool atomics;
  int task_dim;
  int32_t tile_points;  // points of a tile in NRAM (deterministic mode only)
  bool stream;          // the output bypasses the caches
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// `workspace` has workspace_bytes(). Throws Failure with BAD_PARAM if a point is in a voxel that does not exist,
// and std::bad_alloc; the output is then untouched.
void run(Context& context, const Plan& plan, const Args& args, std::byte* workspace);

}  // namespace mluop::dynamic_scatter_backward

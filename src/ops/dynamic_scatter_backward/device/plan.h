// Dynamic scatter backward: the decisions and launches of the device algorithm: plan one of the design document.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/dynamic_scatter_backward/device/kernels.h"
#include "team/operator_call.h"

namespace mluop::dynamic_scatter_backward::device {

// Bytes of the caller's workspace for `points` points of `channels` channels: at any address, with any number of
// voxels up to that of points.
size_t workspace_bytes(int64_t points, int64_t channels);

struct Plan {
  int task_dim;
  int64_t check_points;   // points of a tile of check_kernel()
  int64_t tile_points;    // of traceback_kernel()
  int64_t tile_voxels;    // of scatter_kernel()
  int64_t tile_channels;  // of both; C, unless NRAM has no space for one point
};

// A tile of one point and some channels fits 1 KiB, the smallest NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the output. Throws Failure with BAD_PARAM if a value of the map is invalid, and std::bad_alloc, before
// it writes it.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::dynamic_scatter_backward::device

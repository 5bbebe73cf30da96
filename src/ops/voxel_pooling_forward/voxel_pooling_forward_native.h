// Voxel pooling forward, native algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/voxel_pooling_forward_native_kernels.h"
#include "team/operator_call.h"

namespace mluop::voxel_pooling_forward::native {

struct Plan {
  int task_dim;
  int64_t tile_points;  // points in NRAM at a time
  bool stream;          // outputs bypass the caches
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// Computes the outputs. Throws what make_plan() throws, and std::bad_alloc, before it writes them.
void run(Call& call, const Args& args);

}  // namespace mluop::voxel_pooling_forward::native

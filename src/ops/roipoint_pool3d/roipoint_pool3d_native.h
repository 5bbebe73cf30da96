// RoI-point pooling, native algorithm: its workspace and its launches. Points are prepared in groups with bounds,
// boxes with what their tests share; then each box searches its first points and copies them.
#pragma once

#include <cstddef>

#include "ops/roipoint_pool3d/roipoint_pool3d_args.h"
#include "team/operator_call.h"

namespace mluop::roipoint_pool3d::native {

// The bytes of the workspace. Throws Failure (BAD_PARAM) if they exceed int64_t.
size_t workspace_bytes(const Sizes& sizes);

// Computes the outputs in the workspace that `arena` has. Throws, before it writes them, std::bad_alloc, and
// Failure with ALLOC_FAILED if a sampled point does not fit NRAM.
void run(Call& call, const Args& args, Arena arena);

}  // namespace mluop::roipoint_pool3d::native

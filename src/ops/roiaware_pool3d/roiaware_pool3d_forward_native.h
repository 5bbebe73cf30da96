// RoI-aware pooling, forward, native algorithm: its workspace and its launches. Points are prepared in groups with
// bounds, RoIs with what their tests share; then each RoI searches its points, counts them into its voxels, and
// pools those that have some.
#pragma once

#include <cstddef>

#include "ops/roiaware_pool3d/roiaware_pool3d_args.h"
#include "team/operator_call.h"

namespace mluop::roiaware_pool3d::forward::native {

// The bytes of the workspace. Throws Failure (BAD_PARAM) if they exceed int64_t.
size_t workspace_bytes(int64_t R, int64_t N);

// Computes the outputs in the workspace that `arena` has. Throws std::bad_alloc before it writes them.
void run(Call& call, const ForwardArgs& args, Arena arena);

}  // namespace mluop::roiaware_pool3d::forward::native

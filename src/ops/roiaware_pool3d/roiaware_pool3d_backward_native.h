// RoI-aware pooling, backward, native algorithm: its launches. The first checks the points of all voxels and finds
// the voxels that have some, which are few; in the second each point has one owner, which adds its gradients in
// the order of the voxels.
#pragma once

#include "ops/roiaware_pool3d/roiaware_pool3d_args.h"
#include "team/operator_call.h"

namespace mluop::roiaware_pool3d::backward::native {

// Computes the output. Throws, before it writes it, Failure with BAD_PARAM if a count or a point of a voxel is out
// of range, and std::bad_alloc.
void run(Call& call, const BackwardArgs& args);

}  // namespace mluop::roiaware_pool3d::backward::native

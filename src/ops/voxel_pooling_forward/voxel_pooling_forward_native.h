// Voxel pooling forward, native algorithm: locates the points, sorts those in range by cell, and adds up the rows
// of each cell.
#pragma once

#include "ops/voxel_pooling_forward/voxel_pooling_forward_args.h"
#include "team/operator_call.h"

namespace mluop::voxel_pooling_forward::native {

// Computes the outputs. Throws before it writes them: Failure with ALLOC_FAILED if the smallest tile does not fit
// NRAM, and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace mluop::voxel_pooling_forward::native

// Voxelization, native algorithm: its workspace and its launches. A stable partition divides the points into
// buckets by the hash of their cells; in a bucket, whose points are in ascending order, a hash table finds the
// first point of the cell of each point. Prefix sums over the first points number the voxels.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "ops/voxelization/voxelization_args.h"
#include "team/operator_call.h"

namespace mluop::voxelization::native {

// The workspace for N points. Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena arena);

}  // namespace mluop::voxelization::native

// Voxelization: the workspace and the launches of the native algorithm. A stable partition divides the points into
// buckets by the hash of their cells; in a bucket, whose points are in ascending order, a hash table matches each
// point with the first one of its cell. Prefix sums over the first points number the voxels.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "ops/voxelization/args.h"
#include "team/operator_call.h"

namespace mluop::voxelization::native {

// The workspace for N points. Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::voxelization::native

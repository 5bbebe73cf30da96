// RoI-aware pooling, backward, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstdint>

#include "ops/roiaware_pool3d/roiaware_pool3d.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::roiaware_pool3d::backward::native {

// Voxels that share a word of 64 bits.
inline constexpr int64_t kWordVoxels = 64;

// The points in groups of 2^log2_size, but for the last.
struct Groups {
  int64_t count;
  int log2_size;
};

struct FindArgs : BackwardArgs {
  Groups groups;
  uint64_t* has_points;  // [ceil(voxels() / kWordVoxels), groups.count]: bits of the voxels with points of a group
  FirstBadItem& first_bad;  // an element of argmax for kMax, else of pts_idx_of_voxels
};

// Work items: words. Finds the voxels of each group; reports the first count or point that is out of range.
RangeKernel<FindArgs> find_kernel();

struct AddArgs : BackwardArgs {
  Groups groups;
  const uint64_t* has_points;
  float* sums;  // [N, C]: grad_in itself if it is float
};

// Work items: groups. Adds the gradients of the points of a group.
RangeKernel<AddArgs> add_kernel(mluOpDataType_t dtype);

}  // namespace mluop::roiaware_pool3d::backward::native

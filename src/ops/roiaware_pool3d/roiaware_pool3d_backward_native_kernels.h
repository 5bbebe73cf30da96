// RoI-aware pooling, backward, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstdint>

#include "ops/roiaware_pool3d/roiaware_pool3d.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::roiaware_pool3d::backward::native {

// Voxels that share a word of 64 bits.
inline constexpr int64_t kWordVoxels = 64;

// Divides the points into groups of 2^log2_size; the last may be smaller.
struct Groups {
  int64_t count;
  int log2_size;
};

struct FindArgs : BackwardArgs {
  Groups groups;
  uint64_t* has_points;     // [ceil(voxels() / kWordVoxels), groups.count]: voxels with points of a group
  FirstBadItem& first_bad;  // element of argmax for kMax, otherwise of pts_idx_of_voxels
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

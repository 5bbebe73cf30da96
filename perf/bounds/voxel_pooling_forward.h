// The algorithmic bound of voxel pooling forward: the rows of points added to the cells that own them.
#pragma once

#include <cstdint>
#include <functional>

#include "mlu_op.h"
#include "reference/voxel_pooling_forward.h"

namespace mluop::perf {

// The operands of a call. The caller owns them.
struct PoolTensors {
  reference::VoxelPoolingForwardSizes sizes;
  mluOpDataType_t dtype;
  const int32_t* geom_xyz;
  const void* input_features;
  void* output_features;
  int32_t* pos_memo;
};

// Returns a function that adds the rows of points in range to their cells in output_features (for 16 bits, in fp32
// sums that it then rounds to output_features), writes zeros to cells without points, reads geom_xyz and writes as
// many bytes to pos_memo. Each thread owns the cells of an equal share of the rows, consecutive in the order in
// which memory holds their points, and reads the rows in that order with prefetches. Locating the cells and
// listing the rows are preparation. The function does not depend on previous values of the outputs. Requires
// geom_xyz and pos_memo to be aligned to a cache line.
std::function<void()> voxel_pooling_forward_bound(const PoolTensors& tensors, int threads);

}  // namespace mluop::perf

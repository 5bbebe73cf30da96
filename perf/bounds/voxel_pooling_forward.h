// The algorithmic bound of voxel pooling forward: the rows of points added to the cells that own them.
#pragma once

#include <cstdint>
#include <functional>

#include "reference/voxel_pooling_forward.h"

namespace mluop::perf {

// Returns a function that adds the rows of points in range to their cells in output_features (for half, in fp32
// sums that it then rounds to output_features), writes zeros to cells without points, reads geom_xyz and writes as
// many bytes to pos_memo. Each thread owns the cells of an equal share of the rows, consecutive in the order in
// which memory holds their points, and reads the rows in that order with prefetches. Locating the cells and
// listing the rows are preparation. The function accesses the caller's tensors when called; it does not depend on
// previous values of the outputs.
std::function<void()> voxel_pooling_forward_bound(const reference::VoxelPoolingForwardSizes& sizes, bool is_half,
                                                  const int32_t* geom_xyz, const void* input_features,
                                                  void* output_features, int32_t* pos_memo, int threads);

}  // namespace mluop::perf

// The floor of voxel pooling forward: moving the rows of points to the cells that own them.
#pragma once

#include <cstdint>
#include <functional>

#include "reference/voxel_pooling_forward.h"

namespace mluop::perf {

// Each thread owns cells with an equal share of the rows in range, next to each other in the order in which memory
// holds their points. It reads those rows in that order, fetched ahead, and adds them to the cells in
// output_features; zeroes cells without points; and reads a share of geom_xyz and writes as many bytes to
// pos_memo. Cells are located and rows listed beforehand. The tensors belong to the caller; their values are as
// good as any.
std::function<void()> voxel_pooling_forward_floor(const reference::VoxelPoolingForwardSizes& sizes,
                                                  const int32_t* geom_xyz, const float* input_features,
                                                  float* output_features, int32_t* pos_memo, int threads);

}  // namespace mluop::perf

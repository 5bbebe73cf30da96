// The geometry that BEVDepth passes to voxel pooling: frustum points of the six cameras of a nuScenes car.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/voxel_pooling_forward.h"

namespace mluop::scenes {

// The network's size: 6 cameras x 112 depth bins x 16 x 44 pixels = 473088 points, 80 channels, 128 x 128 x 1.
inline constexpr reference::VoxelPoolingForwardSizes kBevDepthSizes = {2, 473088, 80, 128, 128, 1};

inline constexpr int kBevDepthBins = 112;

// geom_xyz [batch_size, 6 x depths x 16 x 44, 3] in BEVDepth's point order (camera, depth, row, column), the same
// rig for every batch: images of 256 x 704 at stride 16, `depths` depth bins from 2 to 58 m, x and y in +-51.2 m
// with voxels of 0.8 m, z from -5 to 3 m in one voxel. Points outside that box have coordinates outside the grid.
std::vector<int32_t> camera_geometry(int batch_size, int depths = kBevDepthBins);

// The same number of points, uniform over the grid and a margin of a quarter of its width on each side.
std::vector<int32_t> uniform_geometry(const reference::VoxelPoolingForwardSizes& sizes, uint32_t seed);

}  // namespace mluop::scenes

// The points and voxels that voxel networks pass to dynamic scatter. Points are in the order of a rotating LiDAR,
// voxels in the order of mmcv.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::scenes {

// point2voxel_map [points], surjective onto [0, voxels); voxels <= points, rings > 1. The points belong to one
// turn of the sensor, by ring and azimuth, so consecutive points often have the same voxel, and the points of a
// voxel come from several rings. The edge length of the voxels follows from their number. Voxels are numbered by
// (z, y, x).
std::vector<int32_t> lidar_map(int points, int voxels, int rings);

// coors [points, 3] of the same points: (z, y, x) of their voxels, from 0 on. There are `voxels` voxels or a few
// more.
std::vector<int32_t> lidar_coors(int points, int voxels, int rings);

}  // namespace mluop::scenes

// The map that voxel networks feed to dynamic scatter: points of a rotating LiDAR, numbered as the sensor sends
// them, and the voxels that they are in, numbered as mmcv does.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::test {

// point2voxel_map [points], surjective onto [0, voxels); voxels <= points, rings > 1. The points are those of one
// turn of the sensor, ring by ring, each ring in the order of the azimuth; so neighbours often share a voxel, and
// the points of a voxel come from several rings. The edge of the voxels is chosen to give their number; they are
// numbered by (z, y, x).
std::vector<int32_t> lidar_map(int points, int voxels, int rings);

}  // namespace mluop::test

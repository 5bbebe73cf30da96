// Voxelization by its definition: the serial loop over the points. The oracle of the tests and the baseline of the
// perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct VoxelizationProblem {
  int64_t N, F, max_points, max_voxels;
  float voxel_size[3];   // x, y, z
  float coors_range[6];  // minima, then maxima

  int64_t voxels_count() const { return max_voxels * max_points * F; }
};

// Writes all outputs: voxels [max_voxels, max_points, F], coors [max_voxels, 3], num_points_per_voxel
// [max_voxels], voxel_num [1].
void voxelization(const VoxelizationProblem& problem, const float* points, float* voxels, int32_t* coors,
                  int32_t* num_points_per_voxel, int32_t* voxel_num);

}  // namespace mluop::reference

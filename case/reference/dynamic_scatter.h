// Dynamic point to voxel, forward and backward, by their definitions: serial loops. The oracles of the tests and
// the baselines of the perf suite. Sums are those of an fp32 loop over the points, whose bits the operator has;
// gradients are exact, quotients rounded once.
#pragma once

#include <cstdint>
#include <vector>

namespace mluop::reference {

enum class Reduction { kSum, kMean, kMax };

struct DynamicPointToVoxelResult {
  std::vector<float> voxel_feats;           // [V, channels]
  std::vector<int32_t> voxel_coors;         // [V, 3]
  std::vector<int32_t> point2voxel_map;     // [points]
  std::vector<int32_t> voxel_points_count;  // [V]
  std::vector<int32_t> coors;               // [points, 3], those of points without voxel replaced by -1
  int32_t voxel_num = 0;
};

// feats [points, channels], coors [points, 3]
DynamicPointToVoxelResult dynamic_point_to_voxel_forward(Reduction reduction, int64_t points, int64_t channels,
                                                         const float* feats, const int32_t* coors);

struct DynamicScatterBackwardSizes {
  int points, voxels, channels;
  // The number of valid voxels: voxel_num[0].
  int voxel_num;

  int64_t feats_count() const { return int64_t{points} * channels; }
};

// The gradient of maxima.
void dynamic_scatter_backward(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                              const float* feats, const float* voxel_feats, const int32_t* point2voxel_map,
                              float* grad_feats);

// The gradient of sums, and with counts [voxels] of means: that of the voxel, divided by its count.
void dynamic_scatter_backward_of_sums(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                                      const int32_t* point2voxel_map, const int32_t* counts, float* grad_feats);

}  // namespace mluop::reference

// Dynamic point to voxel, forward and backward, by their definitions: serial loops. The oracles of the tests and
// the baselines of the perf suite. Sums add the points in order in fp32; the operator returns the same bits.
// Gradients are exact; quotients are rounded once.
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
  std::vector<int32_t> coors;               // [points, 3], with -1 for points without a voxel
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

// The gradient of sums (the gradient of the voxel) or, with counts [voxels], of means (divided by its count).
void dynamic_scatter_backward_of_sums(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                                      const int32_t* point2voxel_map, const int32_t* counts, float* grad_feats);

}  // namespace mluop::reference

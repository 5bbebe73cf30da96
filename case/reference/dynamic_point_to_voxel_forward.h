// Dynamic point to voxel forward by its definition. The oracle of the tests and the baseline of the perf suite.
// Sums are those of an fp32 loop over the points, whose bits the operator has.
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

}  // namespace mluop::reference

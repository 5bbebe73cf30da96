#include "reference/dynamic_point_to_voxel_forward.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

namespace mluop::reference {

DynamicPointToVoxelResult dynamic_point_to_voxel_forward(Reduction reduction, int64_t points, int64_t channels,
                                                         const float* feats, const int32_t* coors) {
  using Coor = std::array<int32_t, 3>;
  const auto coor_of = [&](int64_t n) { return Coor{coors[3 * n], coors[3 * n + 1], coors[3 * n + 2]}; };
  std::map<Coor, int32_t> voxels;
  for (int64_t n = 0; n < points; ++n) {
    if (std::ranges::min(coor_of(n)) >= 0) voxels[coor_of(n)] = 0;
  }
  DynamicPointToVoxelResult result;
  for (auto& [coor, number] : voxels) {
    number = result.voxel_num++;
    result.voxel_coors.insert(result.voxel_coors.end(), coor.begin(), coor.end());
  }
  const float initial = reduction == Reduction::kMax ? -std::numeric_limits<float>::infinity() : 0.0F;
  result.voxel_feats.assign(voxels.size() * static_cast<size_t>(channels), initial);
  result.voxel_points_count.assign(voxels.size(), 0);
  for (int64_t n = 0; n < points; ++n) {
    const auto found = voxels.find(coor_of(n));
    const bool has_voxel = found != voxels.end();
    const Coor coor = has_voxel ? coor_of(n) : Coor{-1, -1, -1};
    result.coors.insert(result.coors.end(), coor.begin(), coor.end());
    result.point2voxel_map.push_back(has_voxel ? found->second : -1);
    if (!has_voxel) continue;
    ++result.voxel_points_count[static_cast<size_t>(found->second)];
    float* const sums = result.voxel_feats.data() + found->second * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const float value = feats[n * channels + c];
      if (reduction != Reduction::kMax) {
        sums[c] += value;
      } else if (value > sums[c]) {
        sums[c] = value;
      }
    }
  }
  if (reduction != Reduction::kMean) return result;
  for (size_t i = 0; i < result.voxel_feats.size(); ++i) {
    result.voxel_feats[i] /= static_cast<float>(result.voxel_points_count[i / static_cast<size_t>(channels)]);
  }
  return result;
}

}  // namespace mluop::reference

#include "reference/dynamic_scatter.h"

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

void dynamic_scatter_backward(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                              const float* feats, const float* voxel_feats, const int32_t* point2voxel_map,
                              float* grad_feats) {
  const int64_t channels = sizes.channels;
  std::fill_n(grad_feats, sizes.feats_count(), 0.0F);
  // [voxels, channels]: the first point with the maximum.
  std::vector<int32_t> sources(static_cast<size_t>(sizes.voxels * channels), sizes.points);
  for (int n = 0; n < sizes.points; ++n) {
    const int32_t voxel = point2voxel_map[n];
    if (voxel == -1) continue;
    for (int64_t c = 0; c < channels; ++c) {
      int32_t& source = sources[static_cast<size_t>(voxel * channels + c)];
      if (feats[n * channels + c] == voxel_feats[voxel * channels + c]) source = std::min(source, n);
    }
  }
  for (int64_t voxel = 0; voxel < sizes.voxel_num; ++voxel) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t n = sources[static_cast<size_t>(voxel * channels + c)];
      if (n < sizes.points) grad_feats[n * channels + c] = grad_voxel_feats[voxel * channels + c];
    }
  }
}

void dynamic_scatter_backward_of_sums(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                                      const int32_t* point2voxel_map, const int32_t* counts, float* grad_feats) {
  for (int64_t i = 0; i < sizes.feats_count(); ++i) {
    const int64_t voxel = sizes.voxel_num == 0 ? -1 : point2voxel_map[i / sizes.channels];
    const float gradient = voxel < 0 ? 0.0F : grad_voxel_feats[voxel * sizes.channels + i % sizes.channels];
    grad_feats[i] = counts == nullptr || voxel < 0 ? gradient : gradient / static_cast<float>(counts[voxel]);
  }
}

}  // namespace mluop::reference

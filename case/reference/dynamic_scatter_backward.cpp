#include "reference/dynamic_scatter_backward.h"

#include <algorithm>

namespace mluop::reference {

void dynamic_scatter_backward(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                              const float* feats, const float* voxel_feats, const int32_t* point2voxel_map,
                              int32_t* reduce_from, float* grad_feats) {
  const int64_t channels = sizes.channels;
  std::fill_n(grad_feats, sizes.feats_count(), 0.0F);
  std::fill_n(reduce_from, sizes.voxel_feats_count(), sizes.points);
  for (int n = 0; n < sizes.points; ++n) {
    const int32_t voxel = point2voxel_map[n];
    if (voxel == -1) continue;
    for (int64_t c = 0; c < channels; ++c) {
      if (feats[n * channels + c] == voxel_feats[voxel * channels + c]) {
        reduce_from[voxel * channels + c] = std::min(reduce_from[voxel * channels + c], n);
      }
    }
  }
  for (int64_t voxel = 0; voxel < sizes.voxel_num; ++voxel) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t n = reduce_from[voxel * channels + c];
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

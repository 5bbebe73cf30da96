// Dynamic scatter backward by its definition: the serial loops of the design document. The oracle of the tests
// and the baseline of the perf suite. The result is exact; quotients are rounded once.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct DynamicScatterBackwardSizes {
  int points, voxels, channels;
  // The number of valid voxels: voxel_num[0].
  int voxel_num;

  int64_t feats_count() const { return int64_t{points} * channels; }
  int64_t voxel_feats_count() const { return int64_t{voxels} * channels; }
};

// Fills grad_feats with 0, then runs the loops. reduce_from [voxels, channels] is their workspace.
void dynamic_scatter_backward(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                              const float* feats, const float* voxel_feats, const int32_t* point2voxel_map,
                              int32_t* reduce_from, float* grad_feats);

// The same for sums and, with counts [voxels], for means: grad_feats is the gradient of the voxel, divided by its
// count.
void dynamic_scatter_backward_of_sums(const DynamicScatterBackwardSizes& sizes, const float* grad_voxel_feats,
                                      const int32_t* point2voxel_map, const int32_t* counts, float* grad_feats);

}  // namespace mluop::reference

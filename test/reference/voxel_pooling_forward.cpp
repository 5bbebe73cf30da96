#include "reference/voxel_pooling_forward.h"

#include <algorithm>

namespace mluop::reference {

void voxel_pooling_forward(const VoxelPoolingForwardSizes& sizes, const int32_t* geom_xyz,
                           const float* input_features, float* output_features, int32_t* pos_memo) {
  std::fill_n(output_features, sizes.output_count(), 0.0F);
  std::fill_n(pos_memo, sizes.geom_count(), -1);
  for (int b = 0; b < sizes.batch_size; ++b) {
    for (int n = 0; n < sizes.num_points; ++n) {
      const int64_t point = int64_t{b} * sizes.num_points + n;
      const int32_t x = geom_xyz[point * 3];
      const int32_t y = geom_xyz[point * 3 + 1];
      const int32_t z = geom_xyz[point * 3 + 2];
      if (x < 0 || x >= sizes.num_voxel_x || y < 0 || y >= sizes.num_voxel_y || z < 0 || z >= sizes.num_voxel_z) {
        continue;
      }
      pos_memo[point * 3] = b;
      pos_memo[point * 3 + 1] = y;
      pos_memo[point * 3 + 2] = x;
      const int64_t in = point * sizes.num_channels;
      const int64_t out = ((int64_t{b} * sizes.num_voxel_y + y) * sizes.num_voxel_x + x) * sizes.num_channels;
      for (int c = 0; c < sizes.num_channels; ++c) output_features[out + c] += input_features[in + c];
    }
  }
}

}  // namespace mluop::reference

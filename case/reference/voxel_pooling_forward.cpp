#include "reference/voxel_pooling_forward.h"

#include <algorithm>
#include <vector>

namespace mluop::reference {
namespace {

template <class T>
void add_points(const VoxelPoolingForwardSizes& sizes, const int32_t* geom_xyz, const T* input_features,
                float* sums, int32_t* pos_memo) {
  std::fill_n(sums, sizes.output_count(), 0.0F);
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
      for (int c = 0; c < sizes.num_channels; ++c) sums[out + c] += to_f32(input_features[in + c]);
    }
  }
}

}  // namespace

void voxel_pooling_forward(const VoxelPoolingForwardSizes& sizes, const int32_t* geom_xyz,
                           const float* input_features, float* output_features, int32_t* pos_memo) {
  add_points(sizes, geom_xyz, input_features, output_features, pos_memo);
}

void voxel_pooling_forward(const VoxelPoolingForwardSizes& sizes, const int32_t* geom_xyz,
                           const Half* input_features, Half* output_features, int32_t* pos_memo) {
  std::vector<float> sums(static_cast<size_t>(sizes.output_count()));
  add_points(sizes, geom_xyz, input_features, sums.data(), pos_memo);
  std::transform(sums.begin(), sums.end(), output_features, [](float sum) { return to_f16(sum); });
}

}  // namespace mluop::reference

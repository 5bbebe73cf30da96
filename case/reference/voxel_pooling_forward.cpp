#include "reference/voxel_pooling_forward.h"

#include <algorithm>
#include <vector>

#include "reference/element.h"

namespace mluop::reference {

template <class T>
void voxel_pooling_forward(const VoxelPoolingForwardSizes& sizes, const int32_t* geom_xyz, const T* input_features,
                           T* output_features, int32_t* pos_memo) {
  std::vector<float> sums(static_cast<size_t>(sizes.output_count()));
  std::fill_n(pos_memo, sizes.geom_count(), -1);
  for (int64_t point = 0; point < sizes.points(); ++point) {
    const int64_t b = point / sizes.num_points;
    const int32_t x = geom_xyz[point * 3], y = geom_xyz[point * 3 + 1], z = geom_xyz[point * 3 + 2];
    if (x < 0 || x >= sizes.num_voxel_x || y < 0 || y >= sizes.num_voxel_y || z < 0 || z >= sizes.num_voxel_z) {
      continue;
    }
    pos_memo[point * 3] = static_cast<int32_t>(b);
    pos_memo[point * 3 + 1] = y;
    pos_memo[point * 3 + 2] = x;
    const T* in = input_features + point * sizes.num_channels;
    float* out = sums.data() + ((b * sizes.num_voxel_y + y) * sizes.num_voxel_x + x) * sizes.num_channels;
    for (int c = 0; c < sizes.num_channels; ++c) out[c] += to_f32(in[c]);
  }
  for (const float sum : sums) put(sum, output_features++);
}

template void voxel_pooling_forward(const VoxelPoolingForwardSizes&, const int32_t*, const float*, float*,
                                    int32_t*);
template void voxel_pooling_forward(const VoxelPoolingForwardSizes&, const int32_t*, const Half*, Half*, int32_t*);
template void voxel_pooling_forward(const VoxelPoolingForwardSizes&, const int32_t*, const BFloat16*, BFloat16*,
                                    int32_t*);

}  // namespace mluop::reference

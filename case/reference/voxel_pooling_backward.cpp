#include "reference/voxel_pooling_backward.h"

namespace mluop::reference {

template <class T>
void voxel_pooling_backward(const VoxelPoolingBackwardSizes& sizes, const T* grad_output, const int32_t* pos_memo,
                            T* grad_input) {
  for (int64_t point = 0; point < sizes.points(); ++point) {
    const int64_t b = pos_memo[point * 3], y = pos_memo[point * 3 + 1], x = pos_memo[point * 3 + 2];
    const int64_t cell = (b * sizes.num_voxel_y + y) * sizes.num_voxel_x + x;
    for (int64_t c = 0; c < sizes.num_channels; ++c) {
      grad_input[point * sizes.num_channels + c] = b < 0 ? T{0} : grad_output[cell * sizes.num_channels + c];
    }
  }
}

template void voxel_pooling_backward(const VoxelPoolingBackwardSizes&, const uint16_t*, const int32_t*, uint16_t*);
template void voxel_pooling_backward(const VoxelPoolingBackwardSizes&, const uint32_t*, const int32_t*, uint32_t*);

}  // namespace mluop::reference

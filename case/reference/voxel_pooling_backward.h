// Voxel pooling backward by its definition, a serial loop. The oracle of the tests and the baseline of the perf
// suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct VoxelPoolingBackwardSizes {
  int64_t batch_size, num_points, num_channels, num_voxel_x, num_voxel_y;

  int64_t points() const { return batch_size * num_points; }
};

// T: uint16_t for half, uint32_t for float: the loop copies bits.
template <class T>
void voxel_pooling_backward(const VoxelPoolingBackwardSizes& sizes, const T* grad_output, const int32_t* pos_memo,
                            T* grad_input);

}  // namespace mluop::reference

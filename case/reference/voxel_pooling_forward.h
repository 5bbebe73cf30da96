// Voxel pooling forward by its definition: the serial loop of the design document. The oracle of the tests and the
// baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct VoxelPoolingForwardSizes {
  int batch_size, num_points, num_channels, num_voxel_x, num_voxel_y, num_voxel_z;

  int64_t points() const { return int64_t{batch_size} * num_points; }
  int64_t cells() const { return int64_t{batch_size} * num_voxel_y * num_voxel_x; }
  int64_t geom_count() const { return points() * 3; }
  int64_t input_count() const { return points() * num_channels; }
  int64_t output_count() const { return cells() * num_channels; }
};

// Fills output_features with 0 and pos_memo with -1, then runs the loop. Sums in fp32, rounded to half once at the
// end. The native algorithm must return the same bits. T: float, Half or BFloat16.
template <class T>
void voxel_pooling_forward(const VoxelPoolingForwardSizes& sizes, const int32_t* geom_xyz, const T* input_features,
                           T* output_features, int32_t* pos_memo);

}  // namespace mluop::reference

// Voxel pooling forward: the algorithms and the arguments of a call.
//
// Letters as in the design document: B batches, N points, C channels, X, Y, Z voxels. A cell is one (b, y, x) of
// the output; cells are numbered in the order of the output. Sums start at +0 and are fp32; for
// 16-bit types they are rounded once, to nearest even.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "team/operator_call.h"

namespace mluop::voxel_pooling_forward {

// The cell of a point that is out of range.
inline constexpr int32_t kNoCell = -1;

// The arguments of the call, checked.
struct Args {
  int64_t total_points() const { return int64_t{batch_size} * num_points; }
  int64_t cell_count() const { return int64_t{batch_size} * num_voxel_y * num_voxel_x; }
  int64_t sum_count() const { return cell_count() * num_channels; }
  int64_t row_bytes() const { return num_channels * static_cast<int64_t>(size_of(dtype)); }

  int32_t batch_size, num_points, num_channels;
  int32_t num_voxel_x, num_voxel_y, num_voxel_z;
  mluOpDataType_t dtype;       // of the features
  const int32_t* geom_xyz;     // [B, N, 3]
  const void* input_features;  // [B, N, C]
  void* output_features;       // [B, Y, X, C]
  int32_t* pos_memo;           // [B, N, 3]
};

namespace native {

// Computes the outputs. Throws before it writes them: Failure with ALLOC_FAILED if the smallest tile does not fit
// NRAM, and std::bad_alloc.
void run(Call& call, const Args& args);

}  // namespace native

namespace device {

// Computes the outputs. For 16-bit types, the scratch holds the sums in fp32, which a last launch rounds: an
// atomic that added in half would lose addends where the sum has 2048 times their size. Throws std::bad_alloc
// before it writes them.
void run(Call& call, const Args& args);

}  // namespace device
}  // namespace mluop::voxel_pooling_forward

// Voxel pooling backward: the algorithm and the arguments of a call.
//
// Letters as in voxel pooling forward: B batches, N points, C channels, X and Y voxels. A cell is one (b, y, x) of
// grad_output. Elements are copied bit by bit, so half and float share one implementation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "team/operator_call.h"

namespace mluop::voxel_pooling_backward {

// The values in pos_memo of a point without a cell.
inline constexpr int32_t kNoCell = -1;

// The arguments of the call, checked except for the values of pos_memo.
struct Args {
  int64_t total_points() const { return batch_size * num_points; }
  int64_t output_bytes() const { return total_points() * row_bytes; }

  int64_t batch_size, num_points;
  int64_t num_voxel_y, num_voxel_x;
  int64_t row_bytes;             // bytes of C elements
  const std::byte* grad_output;  // [B, Y, X, C]
  const int32_t* pos_memo;       // [B, N, 3]
  std::byte* grad_input;         // [B, N, C]
};

namespace native {

// Computes the output. Throws std::bad_alloc, and Failure with BAD_PARAM for the first bad element of pos_memo,
// before it writes the output.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::voxel_pooling_backward

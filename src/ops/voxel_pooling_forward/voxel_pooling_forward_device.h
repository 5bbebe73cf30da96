// Voxel pooling forward, device algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/voxel_pooling_forward_device_kernels.h"
#include "team/operator_call.h"

namespace mluop::voxel_pooling_forward::device {

struct Plan {
  int task_dim;
  int64_t tile_points;    // points in NRAM at a time
  int64_t tile_channels;  // channels of a feature row in NRAM at a time
};

// The smallest NRAM, 1 KiB, holds a tile of 28 points.
Plan make_plan(const Context& context, mluOpDataType_t dtype);

// Computes the outputs. For 16-bit types, the scratch holds the sums in fp32, which a last launch rounds: an
// atomic that added in half would lose addends where the sum has 2048 times their size. Throws std::bad_alloc
// before it writes them.
void run(Call& call, const Args& args);

}  // namespace mluop::voxel_pooling_forward::device

// Voxel pooling forward, device algorithm: arguments, NRAM and range kernel.
#pragma once

#include <cstdint>

#include "ops/voxel_pooling_forward/voxel_pooling_forward.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_forward::device {

// Work items: points, across batches. For each tile of points: loads geom_xyz, stores pos_memo, and adds the
// feature row of each point in range to the sums of its cell, with one atomic row for each tile of channels.
struct PoolArgs : Args {
  float* sums;  // [B, Y, X, C]; for FLOAT, output_features
  int64_t tile_points;
};
RangeKernel<PoolArgs> pool_kernel(mluOpDataType_t dtype);

// The NRAM of a task: nine contiguous parts of `points` words.
struct Tile {
  static constexpr int64_t kParts = 9;
  // The tile of a feature row reuses the parts of geom_xyz and pos_memo.
  static constexpr int64_t kFeatureParts = 6;

  Tile(Arena& nram, int64_t points)
      : geom_xyz(nram.take<int32_t>("tile", {kParts, points})),
        pos_memo(geom_xyz + 3 * points),
        cells(geom_xyz + kFeatureParts * points),
        features(geom_xyz) {}

  static constexpr int64_t tile_channels(int64_t points, int64_t element_bytes) {
    return kFeatureParts * points * int64_t{sizeof(int32_t)} / element_bytes;
  }

  int32_t* geom_xyz;  // [points, 3]
  int32_t* pos_memo;  // [points, 3]
  int32_t* cells;     // [points], cells of the points, or kNoCell
  void* features;     // [tile_channels(points, element_bytes)]
};

}  // namespace mluop::voxel_pooling_forward::device

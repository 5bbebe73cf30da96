// Dynamic scatter backward, atomics mode: the buffers of a tile in NRAM.
#pragma once

#include <cstdint>

#include "team/nram.h"

namespace mluop::dynamic_scatter_backward {

struct Tile {
  Tile(Nram& nram, int32_t points, int32_t channels)
      : voxels(nram.take<int32_t>(points)), candidates(nram.take<int32_t>(channels)) {}

  // What the constructor takes.
  static size_t bytes(int32_t points, int32_t channels) {
    return nram_bytes<int32_t>(points) + nram_bytes<int32_t>(channels);
  }

  int32_t* voxels;      // [points], voxel of a point
  int32_t* candidates;  // [channels], the point where it has the voxel's value, else N
};

}  // namespace mluop::dynamic_scatter_backward

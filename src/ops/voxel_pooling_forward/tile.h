// Voxel pooling forward, atomics mode: the buffers of a tile in NRAM.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "team/nram.h"

namespace mluop::voxel_pooling_forward {

struct Tile {
  Tile(Nram& nram, int32_t points, int32_t channels)
      : bucket_count(buckets(points)),
        cells(nram.take<int32_t>(points)),
        memo(nram.take<int32_t>(size_t{3} * points)),
        next(nram.take<int32_t>(points)),
        heads(nram.take<int32_t>(bucket_count)),
        row(nram.take<float>(channels)) {}

  // What the constructor takes.
  static size_t bytes(int32_t points, int32_t channels) {
    return nram_bytes<int32_t>(points) * 2 + nram_bytes<int32_t>(size_t{3} * points) +
           nram_bytes<int32_t>(buckets(points)) + nram_bytes<float>(channels);
  }

  static uint32_t buckets(int32_t points) { return std::bit_ceil(static_cast<uint32_t>(points)); }

  // Fibonacci hashing: cells in any regular pattern, a column of the grid for one, spread over the buckets.
  uint32_t bucket(int32_t cell) const {
    const uint32_t mixed = static_cast<uint32_t>(cell) * 2654435769U;
    return static_cast<uint32_t>(uint64_t{mixed} * bucket_count >> 32);
  }

  uint32_t bucket_count;
  int32_t* cells;  // [points], cell of a point
  int32_t* memo;   // [points, 3], pos_memo
  int32_t* next;   // [points], the next point in the bucket; its own number once it has been added
  int32_t* heads;  // [buckets], the first point of a bucket
  float* row;      // [channels], the sum of the points of a cell
};

}  // namespace mluop::voxel_pooling_forward

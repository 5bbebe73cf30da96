// Voxel pooling forward, atomics mode: the tile of a task.
#pragma once

#include <bit>
#include <cstdint>

#include "core/arena.h"

namespace mluop::voxel_pooling_forward {

// Points are grouped by cell in a hash table of linked lists.
struct AtomicTile {
  AtomicTile(Arena& nram, int64_t points, int64_t channels)
      : bucket_count(std::bit_ceil(static_cast<uint32_t>(points))),
        cells(nram.take<int32_t>("cells", {points})),
        memo(nram.take<int32_t>("pos_memo", {points, 3})),
        next(nram.take<int32_t>("next", {points})),
        heads(nram.take<int32_t>("heads", {int64_t{bucket_count}})),
        row(nram.take<float>("row", {channels})) {}

  // Fibonacci hashing: cells in any regular pattern, such as a column of the grid, spread over the buckets.
  uint32_t bucket(int32_t cell) const {
    const uint32_t mixed = static_cast<uint32_t>(cell) * 2654435769U;
    return static_cast<uint32_t>(uint64_t{mixed} * bucket_count >> 32);
  }

  uint32_t bucket_count;
  int32_t* cells;  // [points], the cell of a point
  int32_t* memo;   // [points, 3], pos_memo
  int32_t* next;   // [points], the next point of the bucket; a point that has been added refers to itself
  int32_t* heads;  // [bucket_count], the first point of a bucket
  float* row;      // [channels], the sum of the points of a cell
};

}  // namespace mluop::voxel_pooling_forward

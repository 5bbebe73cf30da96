// The NRAM tile of gather and scatter_add: index pairs, and a row for each pair.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/caches.h"
#include "team/transfer.h"

namespace mluop {

// Distance, in pairs, at which rows are prefetched.
inline constexpr int64_t kPrefetchedPairs = 16;

struct RowTile {
  RowTile(Arena& nram, int64_t max_pairs, int64_t max_row_bytes)
      : pairs(max_pairs),
        row_bytes(max_row_bytes),
        indices(nram.take<int32_t>("indices", {pairs})),
        paired_indices(nram.take<int32_t>("paired indices", {pairs})),
        rows(nram.take<std::byte>("rows", {pairs, row_bytes})) {}

  // The tile for rows of `row_bytes`: parts of a row, in whole cache lines, if a row exceeds NRAM.
  static RowTile fit(Arena& nram, int64_t row_bytes) {
    constexpr int64_t kTileBytes = 16 << 10;
    constexpr int64_t kMaxPairs = 256;
    constexpr int64_t kIndexBytes = 2 * sizeof(int32_t);
    // Minus the alignment of the buffers.
    const int64_t capacity = static_cast<int64_t>(nram.capacity()) / kCacheLine * kCacheLine - 3 * kCacheLine;
    const int64_t part = std::min(row_bytes, std::max(capacity, kCacheLine) / kCacheLine * kCacheLine);
    const int64_t pairs = std::min(kTileBytes, capacity) / (part + kIndexBytes);
    return {nram, std::clamp<int64_t>(pairs, 1, kMaxPairs), part};
  }

  void load_indices(Task& task, const int32_t* from, const int32_t* paired_from, int64_t count) {
    const int64_t bytes = count * int64_t{sizeof(int32_t)};
    has_paired = paired_from != nullptr;
    load(task, indices, from, bytes);
    if (has_paired) load(task, paired_indices, paired_from, bytes);
  }

  // Whether an index of pair i is negative.
  bool skips(int64_t i) const { return (has_paired ? indices[i] | paired_indices[i] : indices[i]) < 0; }

  int64_t pairs;
  int64_t row_bytes;
  int32_t* indices;         // [pairs]
  int32_t* paired_indices;  // [pairs]
  std::byte* rows;          // [pairs, row_bytes]
  bool has_paired = false;
};

}  // namespace mluop

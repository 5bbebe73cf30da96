// Rows of channels times numbers, for operators on the neighborhoods of pixels: sums of rows times weights, and
// dot products of a row with others. The bits of the results do not depend on the lanes of a vector.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "team/fit_tile.h"

namespace mluop {

// A list of rows with a weight and a place for each, and sums of channels.
struct RowTile {
  // Channels that are summed at a time.
  static constexpr int64_t kChannels = 256;

  RowTile(Arena& nram, int64_t max_rows)
      : capacity(max_rows),
        rows(nram.take<const void*>("rows", {max_rows})),
        places(nram.take<int64_t>("places", {max_rows})),
        weights(nram.take<float>("weights", {max_rows})),
        sums(nram.take<float>("sums", {std::max(max_rows, kChannels)})) {}

  int64_t capacity;
  const void** rows;  // [capacity]
  int64_t* places;    // [capacity]
  float* weights;     // [capacity]; or dot products
  float* sums;        // [max(capacity, kChannels)]
};

// The capacity of the tile of an operator whose neighborhoods have `rows` rows, at least 1.
inline int64_t row_capacity(const Context& context, int64_t rows) {
  constexpr int64_t kMaxRows = 512;
  return fit_tile(context, std::clamp<int64_t>(rows, 1, kMaxRows),
                  [](int64_t count) { return bytes_of<RowTile>(count); });
}

}  // namespace mluop

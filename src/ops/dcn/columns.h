// Deformable convolution: the matrix that a group multiplies by its filters. A row holds the interpolated channels
// of an output pixel at each offset of the filter.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/dcn/samples.h"

namespace mluop::dcn {

// Consecutive columns that come from one sample.
struct Piece {
  int32_t sample;   // its index in a box
  int32_t channel;  // the first channel of the input
  int32_t column;   // the first column
  int32_t count;
};

// Writes the pieces of the columns [begin, end) of a group, numbered from `begin`, and returns their number: at
// most one per column.
inline int64_t find_pieces(const Sizes& sizes, const SampleBox& box, int64_t group, int64_t begin, int64_t end,
                           Piece* pieces) {
  const int64_t inputs = sizes.group_inputs(), deformable_inputs = sizes.deformable_inputs();
  int64_t count = 0;
  for (int64_t column = begin; column < end; ++count) {
    const int64_t k = column / inputs, c = column % inputs;
    const int64_t channel = group * inputs + c, d = channel / deformable_inputs;
    const int64_t columns = std::min({end - column, inputs - c, (d + 1) * deformable_inputs - channel});
    pieces[count] = {static_cast<int32_t>(box.index(d, k)), static_cast<int32_t>(channel),
                     static_cast<int32_t>(column - begin), static_cast<int32_t>(columns)};
    column += columns;
  }
  return count;
}

}  // namespace mluop::dcn

// Deformable convolution backward weight: the range kernels, in the order of their launches, and the buffers of a
// task in NRAM. The product of a segment of the output pixels and a tile of the filters is output-stationary: the
// tile stays in NRAM until the products of all pixels of the segment are added.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/dcn/columns.h"
#include "ops/dcn/dcn.h"
#include "ops/dcn/samples.h"
#include "primitives/gemm/matmul.h"
#include "team/launch.h"

namespace mluop::dcn::backward_weight {

// A tile of the filters: whole groups, or part of one group.
struct FilterTile {
  // The samples of the columns.
  SampleBox samples(const Sizes& sizes) const {
    const int64_t inputs = sizes.group_inputs(), deformable_inputs = sizes.deformable_inputs();
    const int64_t k = column / inputs, k_end = (column_end - 1) / inputs + 1;
    const bool is_one_offset = k_end - k == 1 && group_end - group == 1;
    const int64_t first = group * inputs + (is_one_offset ? column - k * inputs : 0);
    const int64_t last = (group_end - 1) * inputs + (is_one_offset ? column_end - 1 - k * inputs : inputs - 1);
    return {first / deformable_inputs, last / deformable_inputs + 1, k, k_end};
  }

  int64_t group, group_end;
  int64_t output, output_end;  // outputs of a group
  int64_t column, column_end;
};

// The sizes of a tile of the filters.
struct Tiling {
  int64_t group_tiles(const Sizes& sizes) const { return ceil_div(sizes.groups, groups); }
  int64_t output_tiles(const Sizes& sizes) const { return ceil_div(sizes.group_outputs(), outputs); }
  int64_t column_tiles(const Sizes& sizes) const { return ceil_div(sizes.group_columns(), columns); }
  int64_t tiles(const Sizes& sizes) const {
    return group_tiles(sizes) * output_tiles(sizes) * column_tiles(sizes);
  }
  FilterTile tile(const Sizes& sizes, int64_t number) const {
    const int64_t of_columns = column_tiles(sizes), of_outputs = output_tiles(sizes);
    const int64_t group = number / (of_columns * of_outputs) * groups;
    const int64_t output = number / of_columns % of_outputs * outputs, column = number % of_columns * columns;
    return {group,  std::min(group + groups, sizes.groups),
            output, std::min(output + outputs, sizes.group_outputs()),
            column, std::min(column + columns, sizes.group_columns())};
  }
  // Number of output pixels multiplied at once.
  int64_t batch() const { return lane_rows * step; }
  // One more line than a row needs, so that lines of consecutive pixels are in different cache sets.
  int64_t grad_stride() const { return round_up(outputs, kMaxLanes) + kMaxLanes; }
  int64_t column_stride() const { return columns + kMaxLanes; }

  int64_t groups, outputs;
  int64_t columns;    // a multiple of kMaxLanes
  int64_t step;       // output pixels of a lane: 1 for float, 2 for BFloat16
  int64_t lane_rows;  // lane rows multiplied at once
  int64_t samples;    // maximum number of samples of a tile
};

// T: the element type of the tensors; Element: the type in which they are multiplied, float or BFloat16. A lane
// holds the elements of `step` output pixels.
template <class T, class Element>
struct Tile {
  Tile(Arena& nram, const Tiling& tiling)
      : samples(nram, tiling.batch(), tiling.samples),
        sums(nram.take<float>("sums", {tiling.groups, tiling.outputs, tiling.columns})),
        columns(nram.take<float>("columns", {tiling.lane_rows, tiling.column_stride()})),
        grads(nram.take<float>("gradients", {tiling.lane_rows, tiling.grad_stride()})),
        column_rows(nram.take<const float*>("rows of columns", {tiling.lane_rows})),
        grad_rows(nram.take<const float*>("rows of gradients", {tiling.lane_rows})),
        pair(nram.take<Element>("columns of a pair", {tiling.step > 1 ? tiling.step : 0, tiling.columns})),
        pieces(nram.take<Piece>("pieces", {tiling.columns})),
        zeros(nram.take<T>("zeros", {tiling.columns})) {}

  SampleBuffers samples;
  float* sums;                // [groups, outputs, columns]
  float* columns;             // [lane rows, column_stride], lanes
  float* grads;               // [lane rows, grad_stride], lanes of grad_output
  const float** column_rows;  // [lane rows], in columns
  const float** grad_rows;    // [lane rows], in grads
  Element* pair;              // [step, columns], not yet interleaved
  Piece* pieces;              // [columns]
  T* zeros;                   // [columns]
};

// The division of the output pixels into segments.
struct Segments {
  Range pixels(const Sizes& sizes, int64_t number) const {
    return split(sizes.pixels(), static_cast<int>(count), static_cast<int>(number));
  }

  int64_t count;
  float* partials;  // [count, Co, group columns] if there are several
};

// Work items: (segment, tile), tiles fastest. Writes the sums to grad_filter if there is one segment, otherwise to
// the partial sums.
struct MultiplyArgs : BackwardWeightArgs {
  const Tiling& tiling;
  Segments segments;
};
RangeKernel<MultiplyArgs> multiply_kernel(mluOpDataType_t dtype);

// Work items: runs of elements of grad_filter. Adds the partial sums in the order of the segments.
inline constexpr int64_t kCombinedElements = 1024;

struct CombineArgs : BackwardWeightArgs {
  Segments segments;
};
RangeKernel<CombineArgs> combine_kernel(mluOpDataType_t dtype);

// Work items: kMaxLanes channels of grad_output each. Writes grad_bias.
RangeKernel<BackwardWeightArgs> add_bias_kernel(mluOpDataType_t dtype);

}  // namespace mluop::dcn::backward_weight

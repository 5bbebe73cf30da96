// Assign score with k, native algorithm: arguments, memory and range kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/assign_score_withk/assign_score_withk.h"
#include "primitives/simd/channel_strip.h"
#include "primitives/simd/partial_sums.h"
#include "team/launch.h"

namespace mluop::assign_score_withk::native {

// Work items: (b, tile of rows). Sums the products of each row in registers and transposes the tile to the output.
struct AssembleArgs : ForwardArgs {
  int64_t tile_count() const { return ceil_div(rows(), tile_rows); }

  int64_t tile_rows;  // a multiple of kStripChannels
  bool stream;        // the output bypasses the caches
};
RangeKernel<AssembleArgs> assemble_kernel(mluOpDataType_t dtype);

// T, here and below: an element type.
template <class T>
struct AssembleTile {
  AssembleTile(Arena& nram, int64_t rows, int64_t channels)
      : stride(round_up(channels, kStripChannels)), sums(nram.take<float>("sums", {rows, stride})), lines(nram) {}

  int64_t stride;
  float* sums;         // [rows, stride]
  RowBuffer<T> lines;  // transposed sums
};

// The rows of each point of a batch, ascending.
struct RowLists {
  RowLists(Arena& arena, int64_t batches, int64_t point_count, int64_t row_count)
      : points(point_count),
        rows(row_count),
        starts(arena.take<int64_t>("starts of points", {batches, point_count + 1})),
        sorted(arena.take<int64_t>("sorted rows", {batches, row_count})) {}

  const int64_t* starts_of(int64_t b) const { return starts + b * (points + 1); }
  const int64_t* sorted_of(int64_t b) const { return sorted + b * rows; }
  // Sorts the rows of a batch by indices[row * step].
  void sort(int64_t b, const int32_t* indices, int64_t step) const;

  int64_t points, rows;
  int64_t* starts;  // [B, points + 1]
  int64_t* sorted;  // [B, rows]
};

// A batch of the backward operator and its transposed gradients.
struct BatchArgs : BackwardArgs {
  // Maximum number of rows transposed at a time.
  static constexpr int64_t kTileRows = kLineElements<Half>;

  int64_t tile_count() const { return ceil_div(rows(), kTileRows); }
  float* gradients_of(int64_t row) const { return transposed + row * stride; }

  int64_t b;
  int64_t stride;     // O, rounded up to kStripChannels
  float* transposed;  // [whole tiles of rows, stride] of grad_output, zeros past O
};

// Work items: tiles of kTileRows rows. Writes the transposed gradients and grad_scores.
RangeKernel<BatchArgs> differentiate_kernel(mluOpDataType_t dtype);

template <class T>
struct DifferentiateTile {
  static constexpr int64_t kMaxLanes = 16;

  explicit DifferentiateTile(Arena& nram)
      : edge(nram.take<T>("edge", {kStripChannels, kLineElements<T>})),
        partial_sums(nram.take<float>("partial sums", {kMaxLanes, kPartialSums})),
        totals(nram.take<float>("totals", {kMaxLanes})) {}

  T* edge;              // see copy_edge()
  float* partial_sums;  // [kMaxLanes kernels, kPartialSums]
  float* totals;        // [kMaxLanes]
};

// Work items: (point, range of kernels), ranges fastest. Writes the gradients of points: for each point, the sum
// of the outer products of scores and gradients over the rows that list it. A listed number stands for `rows_each`
// consecutive rows.
struct AccumulateArgs : BatchArgs {
  int64_t range_count() const { return ceil_div(M, range_kernels); }

  const RowLists& lists;
  int64_t rows_each;
  bool negates;  // the products are subtracted
  void* grad;    // grad_points or grad_centers
  int64_t range_kernels;
};
struct SumTile {
  SumTile(Arena& nram, int64_t kernels, int64_t stride) : sums(nram.take<float>("sums", {kernels, stride})) {}

  float* sums;  // [kernels, stride]
};
RangeKernel<AccumulateArgs> accumulate_kernel(mluOpDataType_t dtype);

}  // namespace mluop::assign_score_withk::native

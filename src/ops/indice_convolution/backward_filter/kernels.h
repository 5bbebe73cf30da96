// Indice convolution backward filter: the range kernels. The product of a segment and a tile of the filters is
// output-stationary: the tile stays in NRAM until the products of all pairs of the segment are added.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/indice_convolution/backward_filter/segments.h"
#include "primitives/matmul.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_convolution::backward_filter {

// Work items: pairs. Reports the first one with an index out of bounds and none that is negative.
struct CheckArgs {
  const Args& call;
  const int64_t* first_pairs;  // [K + 1]
  FirstBadItem& first_bad;
};
RangeKernel<CheckArgs> check_kernel();

// The sizes of a tile.
struct Tiling {
  int64_t row_tiles(const Args& args) const { return ceil_div(args.Ci, rows); }
  int64_t column_tiles(const Args& args) const { return ceil_div(args.Co, columns); }
  int64_t tiles(const Args& args) const { return row_tiles(args) * column_tiles(args); }
  // One more line than rows need: lines of consecutive pairs are then in different sets of a cache.
  int64_t feature_stride() const { return round_up(rows, kMaxLanes) + kMaxLanes; }
  int64_t grad_stride() const { return columns + kMaxLanes; }

  int64_t rows;     // input channels
  int64_t columns;  // output channels, a multiple of kMaxLanes
  int64_t chunk_pairs;
  int64_t block_rows;  // rows of features whose pairs all offsets use in succession
};

// The buffers of a task in NRAM.
struct Tile {
  Tile(Arena& nram, const Tiling& tiling)
      : sums(nram.take<float>("sums", {tiling.rows, tiling.columns})),
        features(nram.take<float>("features of a chunk", {tiling.chunk_pairs, tiling.feature_stride()})),
        grads(nram.take<float>("gradients of a chunk", {tiling.chunk_pairs, tiling.grad_stride()})),
        feature_rows(nram.take<const float*>("rows of features", {tiling.chunk_pairs})),
        grad_rows(nram.take<const float*>("rows of gradients", {tiling.chunk_pairs})),
        indices(nram.take<int32_t>("pairs", {2, 2, tiling.chunk_pairs})) {}

  float* sums;                 // [rows, columns]
  float* features;             // [chunk_pairs, feature_stride], in fp32
  float* grads;                // [chunk_pairs, grad_stride], of output_grad in fp32
  const float** feature_rows;  // [chunk_pairs], in features, or in the tensor if that is read in place
  const float** grad_rows;
  int32_t* indices;  // [2, 2, chunk_pairs], inputs and outputs of two chunks without skipped pairs
};

// Work items: segments times tiles, the tiles of a segment in succession. Writes the sums to filters_grad where a
// segment is the only one of its offset, else to the partial sums.
struct MultiplyArgs {
  const Args& call;
  const Segments& segments;
  const Tiling& tiling;
  float* partials;  // [partial_count, Ci, Co]
};
RangeKernel<MultiplyArgs> multiply_kernel(mluOpDataType_t dtype);

// Work items: offsets times blocks of elements, the blocks of an offset in succession. Adds the partial sums of an
// offset in the order of its segments, and writes 0 to the filters of an offset without pairs.
inline constexpr int64_t kCombinedElements = 1024;

struct CombineArgs {
  const Args& call;
  const Segments& segments;
  const float* partials;
};
RangeKernel<CombineArgs> combine_kernel(mluOpDataType_t dtype);

}  // namespace mluop::indice_convolution::backward_filter

// Indice convolution backward filter: the range kernels, in the order of their launches, and the buffers of a task
// in NRAM. The product of a segment and a tile of the filters is output-stationary: the tile stays in NRAM until
// the products of all pairs of the segment are added.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/indice_convolution/indice_convolution.h"
#include "primitives/gemm/amx.h"
#include "primitives/gemm/matmul.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_convolution::backward_filter {

// Work items: pairs. Reports the first pair with an index out of range and no negative index.
struct CheckArgs : Args {
  const int64_t* first_pairs;  // [K + 1]
  FirstBadItem& first_bad;
};
RangeKernel<CheckArgs> check_kernel();

// A segment of the reduction over pairs: the positions [begin, end) of the pairs of an offset. Segments of a group
// tend to name the same rows.
struct Segment {
  int64_t k;
  int64_t first_pair;  // number of pairs of the segments before it
  int32_t begin, end;
  int32_t group;    // index of the segment in its offset
  int32_t partial;  // place of its sums in the partial sums; kNone: the only segment of its offset
};

inline constexpr int32_t kNone = -1;

// The counts of a division. They depend only on the arguments of the call, so that the order of additions does not
// depend on the number of tasks.
struct Division {
  // The number of segments of an offset with `pairs` pairs.
  int64_t segments_of(int64_t pairs) const { return pairs == 0 ? 0 : pairs <= min_pairs ? 1 : most; }

  int64_t min_pairs;      // offsets with more pairs are divided
  int64_t most;           // segments of a divided offset
  int64_t segment_count;  // less than 2^31
  int64_t partial_count;  // segments of offsets with several segments
};

// Scratch memory.
struct Segments {
  Segments(Arena& arena, const Args& args, const Division& counts)
      : division(counts),
        segments(arena.take<Segment>("segments", {counts.segment_count})),
        first_partials(arena.take<int32_t>("first partial sums", {args.K})) {}

  Division division;
  Segment* segments;        // [segment_count], group by group
  int32_t* first_partials;  // [K], first partial sum of an offset with several segments
};

// The sizes of a tile. The pairs of a segment are multiplied in batches.
struct Tiling {
  int64_t row_tiles(const Args& args) const { return ceil_div(args.Ci, rows); }
  int64_t column_tiles(const Args& args) const { return ceil_div(args.Co, columns); }
  int64_t tiles(const Args& args) const { return row_tiles(args) * column_tiles(args); }
  // One more line than a row needs, so that lines of consecutive pairs are in different cache sets.
  int64_t feature_stride() const { return round_up(rows, kMaxLanes) + kMaxLanes; }
  int64_t grad_stride() const { return columns + kMaxLanes; }
  // Tile registers hold 16 rows of sums, and multiply 16 lanes at once.
  int64_t sum_rows() const { return products == Products::kTiles ? round_up(rows, kAmxRows) : rows; }
  int64_t batch_step() const { return products == Products::kTiles ? kAmxRows : 1; }

  Products products;
  int64_t rows;         // input channels
  int64_t columns;      // output channels, a multiple of kMaxLanes
  int64_t batch_pairs;  // a multiple of batch_step()
  int64_t run_rows;     // run of rows of features whose pairs are used by all offsets in succession
};

// The buffers of a task in NRAM.
struct Tile {
  Tile(Arena& nram, const Tiling& tiling)
      : sums(nram.take<float>("sums", {tiling.sum_rows(), tiling.columns})),
        features(nram.take<float>("features of a batch", {tiling.batch_pairs, tiling.feature_stride()})),
        grads(nram.take<float>("gradients of a batch", {tiling.batch_pairs, tiling.grad_stride()})),
        feature_rows(nram.take<const float*>("rows of features", {tiling.batch_pairs})),
        grad_rows(nram.take<const float*>("rows of gradients", {tiling.batch_pairs})),
        indices(nram.take<int32_t>("pairs", {2, 2, tiling.batch_pairs})) {}

  float* sums;  // [sum_rows(), columns]
  // fp32, or lanes of two bfloat16 of consecutive pairs.
  float* features;             // [batch_pairs, feature_stride]
  float* grads;                // [batch_pairs, grad_stride], rows of output_grad
  const float** feature_rows;  // [batch_pairs], in features or, if read in place, in the tensor
  const float** grad_rows;
  int32_t* indices;  // [2, 2, batch_pairs], inputs and outputs of two batches without skipped pairs
};

// Work items: (segment, tile), tiles fastest. Writes the sums to filters_grad if the segment is the only one of
// its offset, otherwise to the partial sums.
struct MultiplyArgs : Args {
  const Segments& segments;
  const Tiling& tiling;
  float* partials;  // [partial_count, Ci, Co]
};
RangeKernel<MultiplyArgs> multiply_kernel(mluOpDataType_t dtype, Products products);

// Work items: (offset, run of elements), runs fastest. Adds the partial sums of an offset in the order of its
// segments; writes 0 to the filters of an offset without pairs.
inline constexpr int64_t kCombinedElements = 1024;

struct CombineArgs : Args {
  const Segments& segments;
  const float* partials;
};
RangeKernel<CombineArgs> combine_kernel(mluOpDataType_t dtype);

}  // namespace mluop::indice_convolution::backward_filter

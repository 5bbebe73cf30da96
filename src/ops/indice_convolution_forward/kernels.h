// Indice convolution forward: the range kernels.
//
// Letters as in the design document: N rows of features, M rows of features_out, Ci and Co channels, K offsets of
// the filter. The pairs that indice_num counts are numbered p, offset by offset; tiles are stretches of
// features_out, each in NRAM until all pairs of its rows are added.
#pragma once

#include <cstdint>

#include "mlu_op.h"
#include "primitives/counting.h"
#include "primitives/matmul.h"
#include "team/launch.h"

namespace mluop::indice_convolution_forward {

// Elements from one co, k or ci of the filters to the next.
struct FilterStrides {
  int64_t co, k, ci;
};

// The arguments of the call, checked except for the values of indice_pairs.
struct Args {
  const int32_t* inputs(int64_t k) const { return indice_pairs + 2 * k * N; }
  const int32_t* outputs(int64_t k) const { return indice_pairs + (2 * k + 1) * N; }

  int64_t N, M, Ci, Co, K;
  int64_t pair_count;  // the sum of indice_num
  mluOpDataType_t dtype;
  FilterStrides strides;
  const void* features;         // [N, Ci]
  const void* filters;          // by strides
  const int32_t* indice_pairs;  // [K, 2, N]
  const int64_t* indice_num;    // [K]
  void* features_out;           // [M, Co]
};

// Items: panels of all offsets, panels fastest. Copies the filters to fp32 [K][panels][Ci][channels of the panel];
// the last panel of an offset is as narrow as whole vectors allow, and ends with zeros.
struct PackArgs {
  const Args& call;
  float* packed;
};
RangeKernel<PackArgs> pack_kernel();

// Pairs that follow each other in one offset, are of the same tile and none of them skipped: [pair, pair + count).
struct Run {
  int32_t pair, count;
};

constexpr int64_t kMostRunPlaces = 2;

// A run has as many places in memory as it has pairs; it needs one or two. Returns what is behind these.
inline int32_t* write_run(int32_t* places, const Run& run) {
  *places++ = run.pair;
  if (run.count > 1) *places++ = ~run.count;
  return places;
}

// `end` is behind the places of all runs.
inline Run read_run(const int32_t* places, const int32_t* end) {
  return {places[0], places + 1 < end && places[1] < 0 ? ~places[1] : 1};
}

// The pairs by tile of the output, with their order kept within a tile.
struct Buckets {
  Counting counting;
  int shift;                     // log2 of the rows of a tile
  const int32_t* first_numbers;  // [K + 1], the number of the first pair of an offset
  int32_t* order;                // [pair_count], runs, tile by tile, each at the place of its first pair

  // On the way there: the runs that a task counts, one behind the other, as many as there is room for.
  static constexpr int64_t kPairsPerNote = 4;
  struct Noted {
    int32_t end;   // of the notes
    int32_t pair;  // the first that is in no run noted
  };
  int32_t* notes;  // [pair_count / kPairsPerNote], of pairs [p, q) those from p / kPairsPerNote on; or null
  Noted* noted;    // [tasks]
};

// Items: pairs. Counts the pairs of each tile, but none with a negative index, and notes their runs, if there are
// notes. Lowers first_bad to the first pair with an index out of bounds; the counts are then incomplete.
struct CountArgs {
  const Args& call;
  const Buckets& buckets;
  int32_t* first_bad;
};
RangeKernel<CountArgs> count_kernel();

// Items: pairs, as they were counted. Writes buckets.order, of what is noted without another look at the pairs.
struct OrderArgs {
  const Args& call;
  const Buckets& buckets;
};
RangeKernel<OrderArgs> order_kernel();

// How a task cuts its work.
struct Tiling {
  int shift;        // log2 of the rows of a tile of the output
  int64_t pairs;    // whose rows of features are in NRAM at once
  int64_t inputs;   // channels of those rows, a multiple of kMaxLanes
  int64_t outputs;  // channels of the tile, whole panels
  bool stream;      // the output bypasses the caches
};

// Items: tasks. Each takes batches of tiles, one after another, until none is left: cores need not be equally
// fast. Adds the products of a tile's pairs, in their order, to the tile in NRAM, which is then the output.
struct ConvolveArgs {
  const Args& call;
  const Buckets& buckets;
  const float* packed;
  const Tiling& tiling;
  int batch_count;
  int64_t* next_batch;  // 0 at first
};
RangeKernel<ConvolveArgs> convolve_kernel(mluOpDataType_t dtype);

}  // namespace mluop::indice_convolution_forward

// Indice convolution: the range kernels, in the order of their launches, and the buffers of a task in NRAM. The
// convolution is output-stationary: a tile of features_out stays in NRAM until the products of all its pairs are
// added.
#pragma once

#include <cstdint>
#include <numeric>
#include <type_traits>

#include "core/arena.h"
#include "core/element.h"
#include "ops/indice_convolution/indice_convolution.h"
#include "ops/indice_convolution/pairs_by_output_tile.h"
#include "primitives/gemm/matmul.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::indice_convolution::native {

// Work items: pairs. Counts the pairs of each tile, except pairs with a negative index, and caches their runs.
// Reports the first pair with an index out of range; the counts are then incomplete.
struct CountArgs : Args {
  PairsByOutputTile& pairs;
  FirstBadItem& first_bad;
};
RangeKernel<CountArgs> count_kernel();

// Work items: pairs, divided as for count_kernel(). Writes sorted_runs. Pairs of one tile keep their order.
struct SortArgs : Args {
  PairsByOutputTile& pairs;
};
RangeKernel<SortArgs> sort_kernel();

// Work items: panels of all offsets, in the order of offsets. Packs the filters as fp32 [K][panels][Ci][NR], or as
// bfloat16 [K][panels][Ci / 2][NR][2], with Ci rounded up to a step of the products. The last panel of an offset
// is padded with zeros to whole vectors of columns.
struct PackArgs : Args {
  void* packed_filters;
};
RangeKernel<PackArgs> pack_kernel(const Args& args);

// The sizes of a tile. Its pairs are multiplied in batches: pairs of one offset with distinct output rows, so that
// the sums of several pairs can be in registers at the same time.
struct Tiling {
  int64_t rows() const { return int64_t{1} << shift; }
  int64_t sum_count() const { return rows() * output_channels; }
  int64_t feature_count() const { return batch_pairs * input_channels; }

  int shift;                // log2 of the rows of features_out of a tile
  int64_t output_channels;  // a multiple of NR of the microkernel
  int64_t batch_pairs;
  int64_t input_channels;  // input channels of a batch, a multiple of input_step
  int64_t input_step;      // whole vectors, or a step of tile registers
  bool packs;              // tiles pack their filters; false: all filters are packed before
  bool copies_rows;        // input rows are converted, or padded to whole steps of the microkernel
  bool stream;             // the output bypasses the caches
};

// Copies of the indices of consecutive pairs of one tile and one offset.
struct PairBuffers {
  // Room for `max_pairs` pairs; whole vectors are stored to gathered_inputs. The buffers are one allocation of
  // NRAM, because each allocation is padded.
  PairBuffers(Arena& nram, int64_t max_pairs)
      : gathered_inputs(nram.take<int32_t>("pairs", {6 * max_pairs + kMaxLanes})),
        gathered_outputs(gathered_inputs + max_pairs + kMaxLanes),
        divided_inputs(gathered_outputs + max_pairs),
        divided_outputs(divided_inputs + max_pairs),
        batch_of_pair(divided_outputs + max_pairs),
        batch_ends(batch_of_pair + max_pairs) {}

  // Copies of indices that are not contiguous in indice_pairs.
  int32_t* gathered_inputs;
  int32_t* gathered_outputs;
  // Indices of several consecutive batches.
  int32_t* divided_inputs;
  int32_t* divided_outputs;
  int32_t* batch_of_pair;  // [max_pairs], used while pairs are divided
  int32_t* batch_ends;     // [batches]
};

// T: the element type of the tensors; Panel: the element type of the panels, float or BFloat16.
template <class T, class Panel>
struct Tile {
  Tile(Arena& nram, const Tiling& tiling)
      : sums(nram.take<float>("sums", {tiling.rows(), tiling.output_channels})),
        filters(nram.take<Panel>("packed filters",
                                 {tiling.packs ? tiling.input_channels : 0, tiling.output_channels})),
        last_batch_of_row(nram.take<int32_t>("last batch of row", {tiling.rows()})),
        buffers{PairBuffers(nram, tiling.batch_pairs), PairBuffers(nram, tiling.batch_pairs)},
        copied_pairs(tiling.copies_rows ? tiling.batch_pairs : 0),
        features(nram.take<Panel>("copied features", {copied_pairs, tiling.input_channels})),
        row_numbers(nram.take<int32_t>("row numbers", {copied_pairs})),
        output(nram.take<T>("rounded output", {Element16<T> ? tiling.batch_pairs : 0, tiling.input_channels})) {}

  // Call it before the first use.
  void initialize() { std::iota(row_numbers, row_numbers + copied_pairs, 0); }

  float* sums;                 // [rows, output_channels]
  Panel* filters;              // [panels][Ci][NR], of one offset, if the tile packs them
  int32_t* last_batch_of_row;  // [rows], memory of a BatchReader
  PairBuffers buffers[2];      // memory of a BatchReader

  int64_t copied_pairs;
  Panel* features;       // [copied_pairs, input_channels], input rows
  int32_t* row_numbers;  // [copied_pairs], 0, 1, 2, ...
  T* output;             // [batch_pairs, input_channels], rounded sums; Element16 only
};

// Work items: tiles of the output, ordered by channels, then by rows. Adds the products of the pairs of a tile in
// their order, and writes the sums to features_out.
struct ConvolveArgs : Args {
  const PairsByOutputTile& pairs;
  const void* packed_filters;
  const Tiling& tiling;
};
RangeKernel<ConvolveArgs> convolve_kernel(const Args& args);

}  // namespace mluop::indice_convolution::native

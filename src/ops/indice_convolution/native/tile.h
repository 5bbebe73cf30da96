// Indice convolution: the buffers of a task in NRAM.
#pragma once

#include <cstdint>
#include <numeric>
#include <type_traits>

#include "core/arena.h"
#include "core/half.h"
#include "ops/indice_convolution/native/chunk.h"

namespace mluop::indice_convolution::native {

// The sizes of a tile.
struct Tiling {
  int64_t rows() const { return int64_t{1} << shift; }
  int64_t sum_count() const { return rows() * output_channels; }
  int64_t feature_count() const { return chunk_pairs * input_channels; }

  int shift;                // log2 of the rows of features_out
  int64_t output_channels;  // a multiple of NR of the microkernel
  int64_t chunk_pairs;
  int64_t input_channels;  // of the rows of a chunk, a multiple of kMaxLanes
  bool packs;              // tiles pack the filters that they multiply; else these are packed before
  bool stream;             // the output bypasses the caches
};

// T: float or Half. Input rows are read in place if they are float, and converted if they are half.
template <class T>
struct Tile {
  static constexpr bool kConverts = !std::is_same_v<T, float>;

  Tile(Arena& nram, const Tiling& tiling)
      : sums(nram.take<float>("sums", {tiling.rows(), tiling.output_channels})),
        filters(nram.take<float>("packed filters",
                                 {tiling.packs ? tiling.input_channels : 0, tiling.output_channels})),
        last_chunk_of_row(nram.take<int32_t>("last chunk of row", {tiling.rows()})),
        buffers{PairBuffers(nram, tiling.chunk_pairs), PairBuffers(nram, tiling.chunk_pairs)},
        converted_pairs(kConverts ? tiling.chunk_pairs : 0),
        features(nram.take<float>("converted features", {converted_pairs, tiling.input_channels})),
        row_numbers(nram.take<int32_t>("row numbers", {converted_pairs})),
        output(nram.take<T>("converted output", {converted_pairs, tiling.input_channels})) {}

  // Before the first use.
  void initialize() { std::iota(row_numbers, row_numbers + converted_pairs, 0); }

  float* sums;                 // [rows, output_channels]
  float* filters;              // [panels][Ci][NR], of one offset, if the tile packs them
  int32_t* last_chunk_of_row;  // [rows], of a ChunkReader
  PairBuffers buffers[2];      // of a ChunkReader

  // Half only.
  int64_t converted_pairs;
  float* features;       // [chunk_pairs, input_channels], input rows in fp32
  int32_t* row_numbers;  // [chunk_pairs], 0, 1, 2, ...
  T* output;             // [chunk_pairs, input_channels], a part of the sums in half
};

}  // namespace mluop::indice_convolution::native

// Indice convolution forward: the buffers of a task in NRAM.
#pragma once

#include <cstdint>
#include <numeric>
#include <type_traits>

#include "core/half.h"
#include "ops/indice_convolution_forward/chunk.h"
#include "team/nram.h"

namespace mluop::indice_convolution_forward {

// T: float or Half. Rows of half are made float here; those of float are read where they are.
template <class T>
struct Tile {
  static constexpr bool kConverts = !std::is_same_v<T, float>;

  Tile(Nram& nram, const Tiling& tiling)
      : sums(nram.take<float>(sum_count(tiling))), seen(nram.take<int32_t>(size_t{1} << tiling.shift)) {
    for (Chunk& chunk : chunks) {
      chunk.gathered_inputs = nram.take<int32_t>(gathered_count(tiling));
      chunk.gathered_outputs = nram.take<int32_t>(tiling.pairs);
    }
    if constexpr (kConverts) {
      features = nram.take<float>(feature_count(tiling));
      numbers = nram.take<int32_t>(tiling.pairs);
      std::iota(numbers, numbers + tiling.pairs, 0);
      output = nram.take<T>(feature_count(tiling));
    }
  }

  // What the constructor takes.
  static size_t bytes(const Tiling& tiling) {
    const size_t bytes = nram_bytes<float>(sum_count(tiling)) + nram_bytes<int32_t>(size_t{1} << tiling.shift) +
                         2 * (nram_bytes<int32_t>(gathered_count(tiling)) + nram_bytes<int32_t>(tiling.pairs));
    if (!kConverts) return bytes;
    return bytes + nram_bytes<float>(feature_count(tiling)) + nram_bytes<int32_t>(tiling.pairs) +
           nram_bytes<T>(feature_count(tiling));
  }

  static size_t sum_count(const Tiling& tiling) { return static_cast<size_t>(tiling.outputs) << tiling.shift; }
  // Whole vectors are written.
  static size_t gathered_count(const Tiling& tiling) { return static_cast<size_t>(tiling.pairs + kMaxLanes); }
  static size_t feature_count(const Tiling& tiling) { return static_cast<size_t>(tiling.pairs * tiling.inputs); }

  float* sums;      // [rows, outputs], of the tile's part of features_out
  int32_t* seen;    // [rows], for the ChunkReader
  Chunk chunks[2];  // the one at work, and the next

  // Half only.
  float* features = nullptr;   // [pairs, inputs], rows of features as float
  int32_t* numbers = nullptr;  // [pairs], 0, 1, 2 and so on: of those rows
  T* output = nullptr;         // [pairs, inputs], sums as the output has them
};

}  // namespace mluop::indice_convolution_forward

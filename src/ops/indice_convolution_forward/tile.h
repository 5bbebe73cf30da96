// Indice convolution forward: the buffers of a task in NRAM.
#pragma once

#include <cstdint>

#include "core/half.h"
#include "ops/indice_convolution_forward/chunk.h"
#include "team/nram.h"

namespace mluop::indice_convolution_forward {

struct Tile {
  Tile(Nram& nram, const Tiling& tiling)
      : sums(nram.take<float>(sum_count(tiling))),
        features(nram.take<float>(feature_count(tiling))),
        seen(nram.take<int32_t>(size_t{1} << tiling.shift)),
        halves(nram.take<Half>(tiling.outputs)) {
    for (Chunk& chunk : chunks) {
      chunk.inputs = nram.take<int32_t>(tiling.pairs);
      chunk.places = nram.take<uint32_t>(tiling.pairs);
    }
  }

  // What the constructor takes.
  static size_t bytes(const Tiling& tiling) {
    return nram_bytes<float>(sum_count(tiling)) + nram_bytes<float>(feature_count(tiling)) +
           nram_bytes<int32_t>(size_t{1} << tiling.shift) + nram_bytes<Half>(tiling.outputs) +
           2 * (nram_bytes<int32_t>(tiling.pairs) + nram_bytes<uint32_t>(tiling.pairs));
  }

  static size_t sum_count(const Tiling& tiling) { return static_cast<size_t>(tiling.outputs) << tiling.shift; }
  static size_t feature_count(const Tiling& tiling) { return static_cast<size_t>(tiling.pairs * tiling.inputs); }

  float* sums;      // [rows, outputs], of the tile's part of features_out
  float* features;  // [inputs / kMaxLanes][pairs][kMaxLanes], rows of features
  int32_t* seen;    // [rows], for the ChunkReader
  Half* halves;     // [outputs], a row of sums as the output has it
  Chunk chunks[2];  // the one at work, and the next
};

}  // namespace mluop::indice_convolution_forward

// Indice convolution forward: the buffers of a task in NRAM.
#pragma once

#include <cstdint>

#include "core/half.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "team/nram.h"

namespace mluop::indice_convolution_forward {

struct Tile {
  Tile(Nram& nram, const Tiling& tiling)
      : sums(nram.take<float>(sum_count(tiling))),
        features(nram.take<float>(feature_count(tiling))),
        places(nram.take<uint32_t>(tiling.pairs)),
        seen(nram.take<int32_t>(size_t{1} << tiling.shift)),
        halves(nram.take<Half>(tiling.outputs)) {}

  // What the constructor takes.
  static size_t bytes(const Tiling& tiling) {
    return nram_bytes<float>(sum_count(tiling)) + nram_bytes<float>(feature_count(tiling)) +
           nram_bytes<uint32_t>(tiling.pairs) + nram_bytes<int32_t>(size_t{1} << tiling.shift) +
           nram_bytes<Half>(tiling.outputs);
  }

  static size_t sum_count(const Tiling& tiling) { return static_cast<size_t>(tiling.outputs) << tiling.shift; }
  static size_t feature_count(const Tiling& tiling) { return static_cast<size_t>(tiling.pairs * tiling.inputs); }

  float* sums;       // [rows, outputs], of the tile's part of features_out
  float* features;   // [inputs / kMaxLanes][pairs][kMaxLanes], rows of features
  uint32_t* places;  // [pairs], where in sums the output row of a pair begins
  int32_t* seen;     // [rows], the chunk of pairs that named the row last
  Half* halves;      // [outputs], a row of sums as the output has it
};

}  // namespace mluop::indice_convolution_forward

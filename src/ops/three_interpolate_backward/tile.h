// Three interpolate backward: the buffers of a work item in NRAM.
#pragma once

#include <cstdint>

#include "ops/three_interpolate_backward/kernels.h"
#include "team/nram.h"

namespace mluop::three_interpolate_backward {

// T: float or Half.
template <class T>
struct Tile {
  static constexpr size_t kSide = Tiling::kChannels;
  // Elements of a cache line: less than that is carried from one part of a row to the next.
  static constexpr int64_t kCarried = 64 / sizeof(T);
  static constexpr int64_t kRow = kCarried + Tiling::kFeatures;

  Tile(Nram& nram, size_t most_features)
      : features(most_features),
        sums(nram.take<float>((features + kSide) * kSide)),
        rows(nram.take<T>(kSide * kRow)),
        places(nram.take<uint32_t>(Tiling::kPoints * 3)),
        weights(nram.take<float>(Tiling::kPoints * 3)),
        edge(nram.take<T>(kSide * kSide)) {}

  // What the constructor takes; linear in the features.
  static constexpr size_t bytes(size_t features) {
    return nram_bytes<float>((features + kSide) * kSide) + nram_bytes<T>(kSide * kRow) +
           nram_bytes<uint32_t>(Tiling::kPoints * 3) + nram_bytes<float>(Tiling::kPoints * 3) +
           nram_bytes<T>(kSide * kSide);
  }

  // Room for kFeatures of a channel, behind what was carried over.
  T* row(int64_t channel) const { return rows + channel * kRow + kCarried; }

  size_t features;   // Mo
  float* sums;       // [Mo, Co]; kSide more features take what belongs to no feature of the item
  T* rows;           // [Co, kRow], sums as the output has them
  uint32_t* places;  // [No, 3], where in `sums` the feature of a point is
  float* weights;    // [No, 3]
  T* edge;           // [Co, Co], points where the tensor ends within a square tile
};

}  // namespace mluop::three_interpolate_backward

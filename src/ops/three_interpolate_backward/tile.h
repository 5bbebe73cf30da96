// Three interpolate backward: the buffers of the kernels in NRAM. bytes() is what a constructor takes.
#pragma once

#include <cstdint>

#include "ops/three_interpolate_backward/kernels.h"
#include "team/nram.h"

namespace mluop::three_interpolate_backward {

// A strip of sums as the output has them. T: float or Half.
template <class T>
struct Rows {
  // Sums are transposed and written so many features at a time: 512 bytes of a row.
  static constexpr int64_t kFeatures = 512 / sizeof(T);
  // Elements of a cache line: less than that is carried from one part of a row to the next.
  static constexpr int64_t kCarried = 64 / sizeof(T);
  static constexpr int64_t kRow = kCarried + kFeatures;
  static constexpr size_t kSize = Tiling::kStrip * kRow;

  explicit Rows(Nram& nram) : data(nram.take<T>(kSize)) {}
  static constexpr size_t bytes() { return nram_bytes<T>(kSize); }

  // Room for kFeatures of a channel, behind what was carried over.
  T* of(int64_t channel) const { return data + channel * kRow + kCarried; }

  T* data;
};

// Points of a strip of channels that are transposed at once, at most: a cache line of each row.
template <class T>
inline constexpr int64_t kTilePoints = 64 / sizeof(T);

template <class T>
inline constexpr size_t kEdgeSize{Tiling::kStrip * kTilePoints<T>};

// Of direct_kernel().
template <class T>
struct DirectTile {
  static constexpr size_t kStrip = Tiling::kStrip;
  // Indices and weights are prepared so many points at a time.
  static constexpr int64_t kBlock = 64;

  DirectTile(Nram& nram, size_t most_features)
      : features(most_features),
        sums(nram.take<float>((features + kStrip) * kStrip)),
        rows(nram),
        numbers(nram.take<int32_t>(kBlock * 3)),
        weights(nram.take<float>(kBlock * 3)),
        gradients(nram.take<float>(kBlock)),
        edge(nram.take<T>(kEdgeSize<T>)) {}

  // Linear in the features.
  static constexpr size_t bytes(size_t features) {
    return nram_bytes<float>((features + kStrip) * kStrip) + Rows<T>::bytes() + nram_bytes<int32_t>(kBlock * 3) +
           nram_bytes<float>(kBlock * 3) + nram_bytes<float>(kBlock) + nram_bytes<T>(kEdgeSize<T>);
  }

  size_t features;   // Mo
  float* sums;       // [Mo, Co]; kStrip more features take what belongs to no feature of the item
  Rows<T> rows;      // transposed sums
  int32_t* numbers;  // [kBlock, 3], where in `sums` the feature of a point is
  float* weights;    // [kBlock, 3]
  float* gradients;  // [kBlock], of an item of one channel
  T* edge;           // [kStrip, kTilePoints], points where the tensor ends within a tile
};

// Of sum_kernel(). Points: a multiple of kTilePoints; features: of kStrip.
template <class T>
struct SumTile {
  SumTile(Nram& nram, size_t channels, size_t tile_points, size_t features)
      : points(nram.take<float>(tile_points * channels)),
        sums(nram.take<float>(features * channels)),
        rows(nram),
        edge(nram.take<T>(kEdgeSize<T>)) {}

  // Linear in the points and features together.
  static constexpr size_t bytes(size_t channels, size_t tile_points, size_t features) {
    return nram_bytes<float>((tile_points + features) * channels) + Rows<T>::bytes() + nram_bytes<T>(kEdgeSize<T>);
  }

  float* points;  // [No, Co]
  float* sums;    // [Mo, Co]
  Rows<T> rows;   // transposed sums
  T* edge;        // [kStrip, kTilePoints], points where the tensor ends within a tile
};

// Of group_kernel().
struct GroupTile {
  // Weights are prepared so many points at a time.
  static constexpr int64_t kPoints = 64;

  explicit GroupTile(Nram& nram) : weights(nram.take<float>(kPoints * 3)) {}

  float* weights;  // [kPoints, 3]
};

}  // namespace mluop::three_interpolate_backward

// Three interpolate backward: the tiles of the kernels in NRAM. T: float or Half.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/caches.h"
#include "ops/three_interpolate_backward/native/kernels.h"

namespace mluop::three_interpolate_backward::native {

// Elements in a cache line: the most points that a kernel transposes at a time.
template <class T>
inline constexpr int64_t kLineElements = kCacheLine / int64_t{sizeof(T)};

// Sums of a strip of channels on their way to the output: a row per channel.
template <class T>
struct RowBuffer {
  // Features that are transposed before they are written.
  static constexpr int64_t kChunkFeatures = 8 * kLineElements<T>;
  // A row begins with the features of the previous chunk that do not fill a cache line of the output.
  static constexpr int64_t kStride = kLineElements<T> + kChunkFeatures;

  explicit RowBuffer(Arena& nram) : data(nram.take<T>("output rows", {Tiling::kStrip, kStride})) {}

  // The current chunk of a channel.
  T* chunk(int64_t channel) const { return data + channel * kStride + kLineElements<T>; }

  T* data;  // [kStrip, kStride]
};

// The tile of direct_kernel().
template <class T>
struct DirectTile {
  // Points whose indices and weights are converted at a time.
  static constexpr int64_t kChunkPoints = 64;

  DirectTile(Arena& nram, int64_t tile_features)
      : features(tile_features),
        sums(nram.take<float>("sums", {tile_features + Tiling::kStrip, Tiling::kStrip})),
        rows(nram),
        local_features(nram.take<int32_t>("local features", {kChunkPoints, 3})),
        weights(nram.take<float>("weights", {kChunkPoints, 3})),
        gradients(nram.take<float>("gradients", {kChunkPoints})),
        edge(nram.take<T>("edge", {Tiling::kStrip, kLineElements<T>})) {}

  int64_t features;         // Mo
  float* sums;              // [Mo + kStrip, Co]; the last kStrip rows take the pairs of other work items
  RowBuffer<T> rows;        // transposed sums
  int32_t* local_features;  // [kChunkPoints, 3], the row in `sums` of each pair
  float* weights;           // [kChunkPoints, 3]
  float* gradients;         // [kChunkPoints], of a work item of one channel
  T* edge;                  // [kStrip, kLineElements], see copy_edge()
};

// The tile of sum_kernel().
template <class T>
struct SumTile {
  SumTile(Arena& nram, int64_t channels, int64_t tile_points, int64_t features)
      : points(nram.take<float>("points", {tile_points, channels})),
        sums(nram.take<float>("sums", {features, channels})),
        rows(nram),
        edge(nram.take<T>("edge", {Tiling::kStrip, kLineElements<T>})) {}

  float* points;      // [No, Co]
  float* sums;        // [Mo, Co]
  RowBuffer<T> rows;  // transposed sums
  T* edge;            // [kStrip, kLineElements], see copy_edge()
};

// The tile of group_kernel().
struct GroupTile {
  // Points whose weights are converted at a time.
  static constexpr int64_t kChunkPoints = 64;

  explicit GroupTile(Arena& nram) : weights(nram.take<float>("weights", {kChunkPoints, 3})) {}

  float* weights;  // [kChunkPoints, 3]
};

}  // namespace mluop::three_interpolate_backward::native

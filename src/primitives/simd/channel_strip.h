// Strips of channels: 16 rows of a tensor [B, C, N], which kernels transpose so that a vector holds the channels
// of a feature. Sums of a strip, [features, kStripChannels] in NRAM, are transposed back when they are written.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/caches.h"
#include "core/sizes.h"

namespace mluop {

// A cache line of floats.
inline constexpr int64_t kStripChannels = 16;

// Elements in a cache line: the maximum number of points that a kernel transposes at a time. T, here and below: an
// element type.
template <class T>
inline constexpr int64_t kLineElements = kCacheLine / int64_t{sizeof(T)};

// Buffer for writing the sums of a strip of channels: a row per channel.
template <class T>
struct RowBuffer {
  // Features of a run, which are transposed before they are written.
  static constexpr int64_t kRunFeatures = 8 * kLineElements<T>;
  // A row begins with the features of the previous run that do not fill a cache line of the output.
  static constexpr int64_t kStride = kLineElements<T> + kRunFeatures;

  explicit RowBuffer(Arena& nram) : data(nram.take<T>("output rows", {kStripChannels, kStride})) {}

  // The current run of a channel.
  T* run_of(int64_t channel) const { return data + channel * kStride + kLineElements<T>; }

  T* data;  // [kStripChannels, kStride]
};

// The features of a tile of sums, out of `count`: a multiple of kStripChannels, at most `max`; fewer only if tasks
// would otherwise have no work item, because each tile reads all points of its batch. `items_per_tile`: the work
// items of a feature tile.
inline int64_t choose_tile_features(int64_t count, int64_t items_per_tile, int64_t max, int task_dim) {
  const int64_t strips = ceil_div(count, kStripChannels);
  const int64_t busy_tiles = std::min(ceil_div(int64_t{task_dim}, items_per_tile), strips);
  return ceil_div(strips, std::max(ceil_div(count, max), busy_tiles)) * kStripChannels;
}

}  // namespace mluop

// Gather points forward, native algorithm: arguments and range kernels, of which a call launches one.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/gather_points_forward/gather_points_forward_args.h"
#include "primitives/channel_lines.h"
#include "team/launch.h"

namespace mluop::gather_points_forward::native {

// The 32-bit lanes of a strip of channels, a cache line: a float each, or the halves of channels c and c + kStrip.
inline constexpr int64_t kStrip = 16;

inline int64_t strip_channels(const Args& args) { return kCacheLine / static_cast<int64_t>(size_of(args.dtype)); }
inline int64_t strip_count(const Args& args) { return ceil_div(args.C, strip_channels(args)); }

struct GatherArgs : Args {
  int64_t chunk_count() const { return ceil_div(M, chunk_points); }

  int64_t chunk_points;  // a multiple of kStrip
  bool stream;           // the output bypasses the caches
  bool prefetch;         // features come from memory
};

// Work items: (b, strip of channels, chunk of points), chunks fastest. Transposes the features of a strip into
// NRAM, so that one load fetches a feature of all its channels, and transposes points back in registers. Pays
// where the points outnumber the features.
RangeKernel<GatherArgs> packed_kernel(mluOpDataType_t dtype);

// Work items: (b, channel, chunk of points), chunks fastest. Reads features element by element, a channel after
// the other, whose row stays in a cache: for few channels, for few points, and for features that do not fit NRAM.
RangeKernel<GatherArgs> direct_kernel(mluOpDataType_t dtype);

// The NRAM of packed_kernel(). T: float or Half.
template <class T>
struct PackedTile {
  // Features are transposed in squares of at most this many.
  static constexpr int64_t kMaxSquare = 2 * kStrip;

  PackedTile(Arena& nram, int64_t N, int64_t chunk_points)
      : features(nram.take<float>("features", {round_up(N, kMaxSquare), kStrip})),
        rows(nram.take<T>("rows", {kLineChannels<T>, chunk_points})),
        edge(nram.take<T>("edge", {kLineChannels<T>, kMaxSquare})) {}

  float* features;  // [N, kStrip] lanes, and those that fill the last square
  T* rows;          // [kLineChannels, chunk_points] of the output
  T* edge;          // [kLineChannels, kMaxSquare] features: the part of a square that the tensor has
};

// The NRAM of direct_kernel().
template <class T>
struct DirectTile {
  DirectTile(Arena& nram, int64_t chunk_points) : row(nram.take<T>("row", {chunk_points})) {}

  T* row;  // [chunk_points] of the output
};

}  // namespace mluop::gather_points_forward::native

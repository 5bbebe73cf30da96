// Gather points forward, native algorithm: arguments and range kernels; a call launches one of the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/arena.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/gather_points_forward/gather_points_forward.h"
#include "primitives/memory/channel_lines.h"
#include "team/launch.h"

namespace mluop::gather_points_forward::native {

// A strip of channels has 4, 8 or 16 lanes of 32 bits, at most a cache line. A lane is a float, or two halves: one
// channel of the first and one of the second half of the strip.
inline constexpr int64_t kMinLanes = 4, kMaxLanes = 16;
// Points transposed at a time.
inline constexpr int64_t kBlockPoints = 16;

inline int64_t lane_channels(const Args& args) {
  return int64_t{sizeof(float)} / static_cast<int64_t>(size_of(args.dtype));
}
// The smallest number of lanes that holds all channels, or the maximum.
inline int64_t strip_lanes(const Args& args) {
  const int64_t lanes = std::clamp(ceil_div(args.C, lane_channels(args)), kMinLanes, kMaxLanes);
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lanes)));
}
inline int64_t strip_count(const Args& args) { return ceil_div(args.C, strip_lanes(args) * lane_channels(args)); }

struct GatherArgs : Args {
  int64_t chunk_count() const { return ceil_div(M, chunk_points); }

  int64_t chunk_points;  // a multiple of kBlockPoints
  bool stream;           // the output bypasses the caches
  bool prefetch;         // features come from memory
};

// Work items: (b, strip of channels, chunk of points), chunks fastest. Transposes the features of a strip into
// NRAM, so that one load fetches all channels of a feature, and transposes points back in registers. Pays off
// where points outnumber features.
RangeKernel<GatherArgs> packed_kernel(mluOpDataType_t dtype);

// Work items: (b, channel, chunk of points), chunks fastest. Reads features element by element, one channel at a
// time, whose row stays in a cache: for few channels, for few points, and for features that do not fit NRAM.
RangeKernel<GatherArgs> direct_kernel(mluOpDataType_t dtype);

// The NRAM of packed_kernel(). T: an element type.
template <class T>
struct PackedTile {
  static constexpr int64_t kLaneChannels = std::is_same_v<T, float> ? 1 : 2;
  // Features are transposed in squares of at most this many.
  static constexpr int64_t kMaxSquare = kMaxLanes * kLaneChannels;

  PackedTile(Arena& nram, int64_t N, int64_t lanes, int64_t chunk_points)
      : features(nram.take<float>("features", {round_up(N, kMaxSquare), lanes})),
        rows(nram.take<float>("rows", {lanes, chunk_points})),
        edge(nram.take<T>("edge", {lanes * kLaneChannels, kMaxSquare})) {}

  float* features;  // [N, lanes], padded to whole squares
  float* rows;      // [lanes, chunk_points] of the output
  T* edge;          // [channels of a strip, kMaxSquare] features: the part of a square that the tensor has
};

// The NRAM of direct_kernel().
template <class T>
struct DirectTile {
  DirectTile(Arena& nram, int64_t chunk_points) : row(nram.take<T>("row", {chunk_points})) {}

  T* row;  // [chunk_points] of the output
};

struct Plan {
  int task_dim;
  bool packed;           // packed_kernel(), else direct_kernel()
  int64_t chunk_points;  // a multiple of kBlockPoints
  bool stream;           // the output bypasses the caches
  bool prefetch;         // features come from memory
};

// Throws Failure with BAD_PARAM if the bytes of all tensors exceed int64_t. The smallest tile fits 1 KiB, the
// smallest NRAM.
Plan make_plan(const Context& context, const Args& args);

}  // namespace mluop::gather_points_forward::native

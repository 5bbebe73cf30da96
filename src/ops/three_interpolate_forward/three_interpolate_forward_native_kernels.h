// Three interpolate forward, native algorithm: arguments and range kernels; a call launches one of the kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/three_interpolate_forward/three_interpolate_forward.h"
#include "primitives/simd/channel_strip.h"
#include "team/launch.h"

namespace mluop::three_interpolate_forward::native {

inline constexpr int64_t kStrip = kStripChannels;
// Points transposed at once.
inline constexpr int64_t kSquarePoints = 2 * kStrip;

inline int64_t strip_count(const Args& args) { return ceil_div(args.C, kStrip); }

// Work items: (b, strip of channels, chunk of points), chunks fastest.
struct InterpolateArgs : Args {
  int64_t chunk_count() const { return ceil_div(N, chunk_points); }

  int64_t chunk_points;  // a multiple of kSquarePoints, or of kStrip for direct_kernel()
  bool stream;           // the output bypasses the caches
};

// Transposes the features of a strip into NRAM, so that one load fetches all channels of a feature, and transposes
// points back in registers. Pays off where points outnumber features.
RangeKernel<InterpolateArgs> packed_kernel(mluOpDataType_t dtype);

// Reads features element by element: for few channels, for few points, and for features that do not fit NRAM.
RangeKernel<InterpolateArgs> direct_kernel(mluOpDataType_t dtype);

// The NRAM of packed_kernel(). T: an element type.
template <class T>
struct PackedTile {
  PackedTile(Arena& nram, int64_t M, int64_t chunk_points)
      : features(nram.take<float>("features", {M, kStrip})),
        weights(nram.take<float>("weights", {chunk_points, 3})),
        points(nram.take<float>("points", {kSquarePoints, kStrip})),
        rows(nram.take<T>("rows", {kStrip, chunk_points})),
        edge(nram.take<T>("edge", {kStrip, 2 * kStrip})) {}

  float* features;  // [M, kStrip]
  float* weights;   // [chunk_points, 3]
  float* points;    // [kSquarePoints, kStrip]
  T* rows;          // [kStrip, chunk_points] of the output
  T* edge;          // [kStrip, 2 kStrip] features: the part of a square that the tensor has
};

// The NRAM of direct_kernel().
template <class T>
struct DirectTile {
  DirectTile(Arena& nram, int64_t chunk_points)
      : indices(nram.take<int32_t>("indices", {3, chunk_points})),
        weights(nram.take<float>("weights", {3, chunk_points})),
        features(nram.take<T>("features", {3, chunk_points})),
        row(nram.take<T>("row", {chunk_points})) {}

  int32_t* indices;  // [3, chunk_points]
  float* weights;    // [3, chunk_points]
  T* features;       // [3, chunk_points], features of a channel
  T* row;            // [chunk_points] of the output
};

struct Plan {
  int task_dim;
  bool packed;           // packed_kernel(), else direct_kernel()
  int64_t chunk_points;  // a multiple of kStrip
  bool stream;           // the output bypasses the caches
};

// Throws Failure: BAD_PARAM if the bytes of all tensors exceed int64_t. The smallest tile fits 1 KiB, the smallest
// NRAM.
Plan make_plan(const Context& context, const Args& args);

}  // namespace mluop::three_interpolate_forward::native

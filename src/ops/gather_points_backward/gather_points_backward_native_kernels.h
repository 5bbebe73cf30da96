// Gather points backward, native algorithm: arguments, tile in NRAM and range kernel.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/gather_points_backward/gather_points_backward.h"
#include "primitives/simd/channel_strip.h"
#include "team/launch.h"

namespace mluop::gather_points_backward::native {

inline int64_t strip_count(const Args& args) { return ceil_div(args.C, kStripChannels); }

// Work items: (b, tile of features, strip of channels), strips fastest. Transposes points in registers, adds each
// to the sum of its feature in NRAM, and writes the sums transposed back. Additions to one feature depend on each
// other; additions to the channels of a strip do not.
struct SumArgs : Args {
  int64_t tile_count() const { return ceil_div(N, tile_features); }

  int64_t tile_features;  // a multiple of kStripChannels
  bool stream;            // the output bypasses the caches
  bool prefetch;          // points come from memory
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

// T: an element type.
template <class T>
struct SumTile {
  // Points of a run, whose indices are localized together.
  static constexpr int64_t kRunPoints = 64;

  SumTile(Arena& nram, int64_t tile_features)
      : features(tile_features),
        sums(nram.take<float>("sums", {tile_features + kStripChannels, kStripChannels})),
        rows(nram),
        local_features(nram.take<int32_t>("local features", {kRunPoints})),
        edge(nram.take<T>("edge", {kStripChannels, kLineElements<T>})) {}

  int64_t features;
  float* sums;              // [features + kStripChannels, kStripChannels]; the last rows collect other points
  RowBuffer<T> rows;        // transposed sums
  int32_t* local_features;  // [kRunPoints], the row in `sums` of each point
  T* edge;                  // [kStripChannels, kLineElements], see copy_edge()
};

}  // namespace mluop::gather_points_backward::native

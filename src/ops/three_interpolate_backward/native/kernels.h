// Three interpolate backward: arguments and range kernels.
//
// Letters as in the design document: B batches, C channels, N points, M features; Co, No and Mo are the channels,
// points and features of a tile. An element of `indices` is a pair: it adds the channels of its point, times its
// weight, to its feature. The sum of a feature starts at +0 and adds the rounded products in the order of
// `indices`, in fp32: the bits of the serial loop.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "mlu_op.h"
#include "ops/three_interpolate_backward/args.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::three_interpolate_backward::native {

// Tiles of a call. A work item is (b, feature tile, channel tile), channel tiles fastest.
struct Tiling {
  int64_t channel_tiles(const Args& call) const { return ceil_div(call.C, channels); }
  int64_t feature_tiles(const Args& call) const { return ceil_div(call.M, features); }
  int64_t point_tiles(const Args& call) const { return ceil_div(call.N, points); }
  int64_t work_items(const Args& call) const { return call.B * feature_tiles(call) * channel_tiles(call); }

  // A strip of channels: a cache line of floats.
  static constexpr int64_t kStrip = 16;

  int64_t channels;  // Co, a multiple of kStrip
  int64_t points;    // No
  int64_t features;  // Mo, a multiple of kStrip, so that whole squares are transposed
};

// Work items: indices. Reports the first that is outside [0, M).
struct CheckArgs {
  const Args& call;
  FirstBadItem& first_bad_index;
};
RangeKernel<CheckArgs> check_kernel();

// The pairs of each point tile, sorted by feature. The sort is stable.
struct GroupedPairs {
  struct Pair {
    uint32_t row_offset;  // of the point's row in the transposed tile [No, Co]
    float weight;
  };

  GroupedPairs(Arena& pool, const Args& call, const Tiling& tiling)
      : starts(pool.take<uint32_t>("starts of features", {call.B, tiling.point_tiles(call), call.M + 1})),
        pairs(pool.take<Pair>("grouped pairs", {call.B, call.N, 3})) {}

  // The pairs of feature m are pairs_of()[starts_of()[m], starts_of()[m + 1]).
  uint32_t* starts_of(const Args& call, const Tiling& tiling, int64_t b, int64_t point_tile) const {
    return starts + (b * tiling.point_tiles(call) + point_tile) * (call.M + 1);
  }
  Pair* pairs_of(const Args& call, const Tiling& tiling, int64_t b, int64_t point_tile) const {
    return pairs + (b * call.N + point_tile * tiling.points) * 3;
  }

  uint32_t* starts;  // [B, point tiles, M + 1]
  Pair* pairs;       // [B, N, 3]
};

// Work items: (b, point tile). Checks the indices as check_kernel() does, and sorts the pairs of the tile.
struct GroupArgs {
  const Args& call;
  const Tiling& tiling;
  const GroupedPairs& grouped;
  FirstBadItem& first_bad_index;
};
RangeKernel<GroupArgs> group_kernel(mluOpDataType_t dtype);

// Work items: those of Tiling. Transposes a point tile into NRAM, sums the pairs of each feature in registers, and
// writes the sums transposed back. For calls whose channels outweigh the cost of grouping.
struct SumArgs {
  const Args& call;
  const Tiling& tiling;
  const GroupedPairs& grouped;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

// Work items: those of Tiling; Co is kStrip. Transposes points in registers, adds each to its three features in
// NRAM, and writes the sums transposed back. For few channels, and for features of few pairs.
struct DirectArgs {
  const Args& call;
  const Tiling& tiling;
  bool stream;    // the output bypasses the caches
  bool prefetch;  // points come from memory
};
RangeKernel<DirectArgs> direct_kernel(mluOpDataType_t dtype);

}  // namespace mluop::three_interpolate_backward::native

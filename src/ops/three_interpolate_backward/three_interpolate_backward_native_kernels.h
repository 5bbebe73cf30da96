// Three interpolate backward, native algorithm: arguments, tiles in NRAM and range kernels. A call launches
// group_kernel() and sum_kernel(), or direct_kernel(). Letters as in three_interpolate_backward.h.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "ops/three_interpolate_backward/three_interpolate_backward.h"
#include "primitives/simd/channel_strip.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::three_interpolate_backward::native {

// Tiles of a call. A work item is (b, feature tile, channel tile), channel tiles fastest.
struct Tiling {
  int64_t channel_tiles(const Args& args) const { return ceil_div(args.C, channels); }
  int64_t feature_tiles(const Args& args) const { return ceil_div(args.M, features); }
  int64_t point_tiles(const Args& args) const { return ceil_div(args.N, points); }
  int64_t work_items(const Args& args) const { return args.B * feature_tiles(args) * channel_tiles(args); }

  // A strip of channels.
  static constexpr int64_t kStrip = kStripChannels;

  int64_t channels;  // Co, a multiple of kStrip
  int64_t points;    // No
  int64_t features;  // Mo, a multiple of kStrip, so that whole squares are transposed
};

// A pair of a point tile.
struct GroupedPair {
  uint32_t row_offset;  // offset of the point's row in the transposed tile [No, Co]
  float weight;
};

// The scratch between group_kernel() and sum_kernel(): the pairs of each point tile, sorted by feature. The sort
// is stable.
struct Scratch {
  Scratch(Arena& arena, const Args& args, const Tiling& tiling)
      : starts(arena.take<uint32_t>("starts of features", {args.B, tiling.point_tiles(args), args.M + 1})),
        pairs(arena.take<GroupedPair>("grouped pairs", {args.B, args.N, 3})) {}

  // The pairs of feature m are pairs_of()[starts_of()[m], starts_of()[m + 1]).
  uint32_t* starts_of(const Args& args, const Tiling& tiling, int64_t b, int64_t point_tile) const {
    return starts + (b * tiling.point_tiles(args) + point_tile) * (args.M + 1);
  }
  GroupedPair* pairs_of(const Args& args, const Tiling& tiling, int64_t b, int64_t point_tile) const {
    return pairs + (b * args.N + point_tile * tiling.points) * 3;
  }

  uint32_t* starts;    // [B, point tiles, M + 1]
  GroupedPair* pairs;  // [B, N, 3]
};

// Work items: (b, point tile). Checks the indices and sorts the pairs of the tile.
struct GroupArgs : Args {
  const Tiling& tiling;
  const Scratch& scratch;
  FirstBadItem& first_bad_index;
};
RangeKernel<GroupArgs> group_kernel(mluOpDataType_t dtype);

struct GroupTile {
  // Points whose weights are converted at a time.
  static constexpr int64_t kRunPoints = 64;

  explicit GroupTile(Arena& nram) : weights(nram.take<float>("weights", {kRunPoints, 3})) {}

  float* weights;  // [kRunPoints, 3]
};

// Work items: as Tiling states. Transposes a point tile into NRAM, sums the pairs of each feature in registers,
// and writes the sums transposed back. For calls whose channels outweigh the cost of grouping.
struct SumArgs : Args {
  const Tiling& tiling;
  const Scratch& scratch;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

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

// Work items: as Tiling states; Co is kStrip. Transposes points in registers, adds each to its three features in
// NRAM, and writes the sums transposed back. For few channels, and for features with few pairs.
struct DirectArgs : Args {
  const Tiling& tiling;
  bool stream;    // the output bypasses the caches
  bool prefetch;  // points come from memory
};
RangeKernel<DirectArgs> direct_kernel(mluOpDataType_t dtype);

template <class T>
struct DirectTile {
  // Points of a run, whose indices and weights are converted together.
  static constexpr int64_t kRunPoints = 64;

  DirectTile(Arena& nram, int64_t tile_features)
      : features(tile_features),
        sums(nram.take<float>("sums", {tile_features + Tiling::kStrip, Tiling::kStrip})),
        rows(nram),
        local_features(nram.take<int32_t>("local features", {kRunPoints, 3})),
        weights(nram.take<float>("weights", {kRunPoints, 3})),
        gradients(nram.take<float>("gradients", {kRunPoints})),
        edge(nram.take<T>("edge", {Tiling::kStrip, kLineElements<T>})) {}

  int64_t features;         // Mo
  float* sums;              // [Mo + kStrip, Co]; the last kStrip rows collect pairs of other work items
  RowBuffer<T> rows;        // transposed sums
  int32_t* local_features;  // [kRunPoints, 3], the row in `sums` of each pair
  float* weights;           // [kRunPoints, 3]
  float* gradients;         // [kRunPoints], gradients of a one-channel work item
  T* edge;                  // [kStrip, kLineElements], see copy_edge()
};

struct Plan {
  int group_task_dim;  // of group_kernel()
  int task_dim;        // of sum_kernel() or direct_kernel()
  bool grouped;        // group_kernel() and sum_kernel()
  bool stream;         // the output bypasses the caches
  bool prefetch;       // points come from memory
  Tiling tiling;
};

// Throws Failure: ALLOC_FAILED if the smallest tile does not fit NRAM, BAD_PARAM if the bytes of all tensors
// together exceed int64_t.
Plan make_plan(const Context& context, const Args& args);

}  // namespace mluop::three_interpolate_backward::native

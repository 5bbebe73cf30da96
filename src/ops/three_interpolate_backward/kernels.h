// Three interpolate backward: the range kernels.
//
// Letters as in the design document: B batches, C channels, N points, M features; No, Mo and Co are the points,
// features and channels that are in NRAM at once.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "mlu_op.h"
#include "team/launch.h"

namespace mluop::three_interpolate_backward {

// The arguments of the call, checked but for the values of the indices.
struct Args {
  int64_t index_count() const { return B * N * 3; }

  int64_t B, C, N, M;
  mluOpDataType_t dtype;    // of all tensors but the indices
  const void* grad_output;  // [B, C, N]
  const int32_t* indices;   // [B, N, 3]
  const void* weights;      // [B, N, 3]
  void* grad_features;      // [B, C, M]
};

// How the work is cut: into work items (b, chunk of Mo features, block of Co channels), channels fastest.
struct Tiling {
  int64_t blocks(const Args& call) const { return ceil_div(call.C, channels); }
  int64_t chunks(const Args& call) const { return ceil_div(call.M, features); }
  int64_t items(const Args& call) const { return call.B * chunks(call) * blocks(call); }
  int64_t tiles(const Args& call) const { return ceil_div(call.N, points); }

  // Channels come in strips of a cache line of floats.
  static constexpr int64_t kStrip = 16;

  int64_t channels;  // Co, a multiple of kStrip
  int64_t points;    // No
  int64_t features;  // Mo, a multiple of kStrip, so that whole square tiles are transposed
  bool stream;       // outputs are too large to be found in a cache again
  bool fetch_ahead;  // points come from memory
};

// Items: indices. Notes the first index of the task that is outside [0, M).
struct CheckArgs {
  const int32_t* indices;
  int64_t M;
  int64_t* first_bad;  // [taskDim], position of that index; as it was, if there is none
};
RangeKernel<CheckArgs> check_kernel();

// The slots of the points, grouped by feature: of each tile of No points by itself.
struct Groups {
  // What a slot adds to its feature: weight times the row at `place` of the tile's points, of Co channels each.
  struct Pair {
    uint32_t place;
    float weight;
  };

  // The pairs of feature m of a tile are pairs_of()[starts_of()[m], starts_of()[m + 1]), in the order of points
  // and slots.
  uint32_t* starts_of(const Args& call, const Tiling& tiling, int64_t b, int64_t tile) const {
    return starts + (b * tiling.tiles(call) + tile) * (call.M + 1);
  }
  Pair* pairs_of(const Args& call, const Tiling& tiling, int64_t b, int64_t tile) const {
    return pairs + (b * call.N + tile * tiling.points) * 3;
  }

  uint32_t* starts;  // [B, tiles, M + 1]
  Pair* pairs;       // [B, N, 3]
};

// Items: (b, tile of points). Checks the indices as check_kernel() does, and groups the tile's slots.
struct GroupArgs {
  const Args& call;
  Tiling tiling;
  Groups groups;
  int64_t* first_bad;
};
RangeKernel<GroupArgs> group_kernel(mluOpDataType_t dtype);

// Both kernels below: a feature's sum is that of the serial loop. It starts at +0 and adds the rounded products in
// the order of points and slots, in fp32. Items are those of Tiling.

// For channels enough that grouping pays. Transposes a tile of points into NRAM, adds up each feature's pairs in
// registers, and writes the features transposed back.
struct SumArgs {
  const Args& call;
  Tiling tiling;
  Groups groups;
};
RangeKernel<SumArgs> sum_kernel(mluOpDataType_t dtype);

// For a single strip of channels, and for features of few pairs. Transposes points in registers, adds each to its
// three features in NRAM and writes the features transposed back. Co is kStrip.
struct DirectArgs {
  const Args& call;
  Tiling tiling;
};
RangeKernel<DirectArgs> direct_kernel(mluOpDataType_t dtype);

}  // namespace mluop::three_interpolate_backward

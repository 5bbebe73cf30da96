// Dynamic scatter backward: arguments and range kernels.
//
// Letters as in the design document: N points, M voxels, C channels; V = voxel_num[0], the voxels that take part.
#pragma once

#include <atomic>
#include <cstdint>

#include "primitives/key_partition.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::dynamic_scatter_backward {

// The arguments of the call, checked except for the values of the map.
struct Args {
  int64_t row_bytes() const { return channels * int64_t{sizeof(float)}; }

  int32_t point_count;             // N
  int32_t voxel_count;             // V
  int64_t channels;                // C
  const float* grad_voxel_feats;   // [M, C]
  const float* feats;              // [N, C]
  const float* voxel_feats;        // [M, C]
  const int32_t* point2voxel_map;  // [N]
  float* grad_feats;               // [N, C]
};

// Deterministic mode: the steps of primitives/key_partition.h, with voxels as keys: the map holds the keys.

// Work items: chunks of points. Checks the map and computes the ranks of the points; these are incomplete if it
// reports a bad point.
struct RankArgs {
  const Args& call;
  const KeyPartition& partition;
  const KeyedPoints& points;
  FirstBadItem& bad_point;
  std::atomic<bool>& any_skipped;  // set if a point has no voxel
};
RangeKernel<RankArgs> rank_kernel();

// Work items: ranks of buckets. Writes the output rows of the points of each bucket, in the order of the points:
// the gradient of a channel to the first point that has the voxel's value, 0 to the others.
struct MatchArgs {
  const Args& call;
  const KeyPartition& partition;
  const KeyedPoints& points;
  uint8_t* claimed;  // [V, max_claimed_bytes()] or less, a bit a channel: whether a point has its gradient
  int64_t tile_points;
  bool stream;
};
RangeKernel<MatchArgs> match_kernel();

// The bytes that a voxel takes in `claimed`, at most, on any instruction set: a vector takes a bit a channel,
// rounded up to bytes; the channels that do not fill a vector take up to four shorter ones.
constexpr int64_t max_claimed_bytes(int64_t channels) { return channels + 4; }

// Atomics mode.

// Work items: points. Checks the map, and computes source[voxel, channel], the first point that has the voxel's
// value; N if there is none. A task holds the lock of a voxel while it updates the voxel's row.
struct TraceArgs {
  const Args& call;
  int32_t* source;  // [V, C]; rows of voxels without points are not initialized
  int32_t* locks;   // [V]; initially 0, and finally so for voxels without points
  FirstBadItem& bad_point;
};
RangeKernel<TraceArgs> trace_kernel();

// Work items: voxels. Writes each gradient to the row of its source. The output is zero before.
struct ScatterArgs {
  const Args& call;
  const int32_t* source;  // [V, C]
  const int32_t* locks;   // [V]
};
RangeKernel<ScatterArgs> scatter_kernel();

}  // namespace mluop::dynamic_scatter_backward

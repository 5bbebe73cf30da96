// Dynamic scatter backward: the range kernels.
//
// Letters as in the design document: N points, M voxels, C channels. Of the M voxels the first V take part.
#pragma once

#include <cstdint>

#include "primitives/key_order.h"
#include "team/launch.h"

namespace mluop::dynamic_scatter_backward {

// The arguments of the call, checked except for the values of the map.
struct Args {
  int64_t row_bytes() const { return channels * int64_t{sizeof(float)}; }

  int32_t point_count;             // N
  int32_t voxel_count;             // V = voxel_num[0]
  int64_t channels;                // C
  const float* grad_voxel_feats;   // [M, C]
  const float* feats;              // [N, C]
  const float* voxel_feats;        // [M, C]
  const int32_t* point2voxel_map;  // [N]
  float* grad_feats;               // [N, C]
};

// Deterministic mode: the keys of primitives/key_order.h are voxels, its items points; the map has
// the keys.

// Items: blocks of points. Finds the ranks of the blocks, and lowers first_skipped to the first block that has a
// point without voxel. Lowers first_bad to the first point whose voxel does not exist; the ranks are then
// incomplete.
struct RankArgs {
  const Args& call;
  const KeyOrder& order;
  const KeyedItems& points;
  int32_t* first_skipped;
  int32_t* first_bad;
};
RangeKernel<RankArgs> rank_kernel();

// Items: ranks of tiles. Writes the whole rows of the points in the tiles, in the order of the points: the
// gradient of a channel to the first that has the voxel's value, 0 to the others.
struct MatchArgs {
  const Args& call;
  const KeyOrder& order;
  const KeyedItems& points;
  uint8_t* taken;  // [V, most_taken_bytes()] or less, bits: whether a channel's gradient has been given away
  int32_t tile_points;
  bool stream;
};
RangeKernel<MatchArgs> match_kernel();

// The most bytes that a voxel takes in `taken`, whatever the instruction set: a vector takes a bit a channel, in
// whole bytes; the channels that do not fill a vector make up to four shorter ones.
constexpr int64_t most_taken_bytes(int64_t channels) { return channels + 4; }

// Atomics mode, items: points. Lowers source[voxel, channel] to the first point that has the voxel's value, N
// before; a task holds the lock of a voxel while it lowers the voxel's row. Lowers first_bad as rank_kernel()
// does.
struct TraceArgs {
  const Args& call;
  int32_t* source;  // [V, C]; rows of voxels without point stay as they are
  int32_t* locks;   // [V], of the rows of source; 0, and afterwards still so for voxels without point
  int32_t* first_bad;
};
RangeKernel<TraceArgs> trace_kernel();

// Atomics mode, items: voxels. Gives each gradient to the point that it comes from; N: to none. The other elements
// of the output are zero before.
struct ScatterArgs {
  const Args& call;
  const int32_t* source;  // [V, C]
  const int32_t* locks;   // [V]
};
RangeKernel<ScatterArgs> scatter_kernel();

}  // namespace mluop::dynamic_scatter_backward

// Dynamic scatter backward, device algorithm: arguments and range kernels, in the order of their launches.
//
// Letters as in the design document: N points, C channels; V = voxel_num[0], the voxels in use. Tiles hold all
// channels, or as many as fit NRAM with one point.
#pragma once

#include <cstdint>

#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::dynamic_scatter_backward::device {

inline constexpr int64_t kElementBytes = 4;  // bytes of a feature, gradient or point index

// Work items: points. Reports points with an invalid map value.
struct CheckArgs : Args {
  int64_t tile_points;
  FirstBadItem& bad_point;
};
RangeKernel<CheckArgs> check_kernel();

// Work items: elements. Sets reduce_from to N: no point.
struct FillArgs {
  int32_t value;
  int32_t* reduce_from;  // [V, C]
};
RangeKernel<FillArgs> fill_kernel();

// Kernel 1 of the document. Work items: points. reduce_from = the smallest point of a voxel whose feature equals
// the value of the voxel.
struct TracebackArgs : Args {
  int64_t tile_points, tile_channels;
  int32_t* reduce_from;  // [V, C], N
};
RangeKernel<TracebackArgs> traceback_kernel();

// Kernel 2 of the document. Work items: voxels. Writes the gradients of a voxel to the points of reduce_from.
struct ScatterArgs : Args {
  int64_t tile_voxels, tile_channels;
  const int32_t* reduce_from;  // [V, C]
};
RangeKernel<ScatterArgs> scatter_kernel();

// The NRAM of traceback_kernel(): 20 C + 4 bytes a point, plus 4 C. Its parts are adjacent, without alignment.
struct TracebackTile {
  static constexpr int64_t bytes(int64_t points, int64_t channels) {
    return (points * (5 * channels + 1) + channels) * kElementBytes;
  }
  static constexpr int64_t max_points(int64_t nram_bytes, int64_t channels) {
    return (nram_bytes - channels * kElementBytes) / ((5 * channels + 1) * kElementBytes);
  }
  // The number of channels that fit with a tile of one point.
  static constexpr int64_t max_channels(int64_t nram_bytes) {
    return (nram_bytes - kElementBytes) / (6 * kElementBytes);
  }

  // The document's index_mask, value_mask and tmp_mask [points, channels] and its result [channels] occupy their
  // space but are unused: candidates are compared and reduced in registers.
  TracebackTile(Arena& nram, int64_t points, int64_t channels) {
    auto* masks = nram.take<int32_t>("tile", {bytes(points, channels) / kElementBytes});
    feats = reinterpret_cast<float*>(masks + 3 * points * channels);
    reduce_feats = feats + points * channels;
    offsets = reinterpret_cast<int32_t*>(reduce_feats + points * channels);
  }

  float* feats;         // [points, channels]
  float* reduce_feats;  // [points, channels], values of each point's voxel
  int32_t* offsets;     // [points], map values
};

// The NRAM of scatter_kernel().
struct ScatterTile {
  static constexpr int64_t max_voxels(int64_t nram_bytes, int64_t channels) { return nram_bytes / (8 * channels); }

  ScatterTile(Arena& nram, int64_t voxels, int64_t channels)
      : reduce_from(nram.take<int32_t>("tile", {2, voxels, channels})),
        grads(reinterpret_cast<float*>(reduce_from + voxels * channels)) {}

  int32_t* reduce_from;  // [voxels, channels]
  float* grads;          // [voxels, channels]
};

}  // namespace mluop::dynamic_scatter_backward::device

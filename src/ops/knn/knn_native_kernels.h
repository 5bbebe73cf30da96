// k nearest neighbors, native algorithm: arguments and range kernel.
#pragma once

#include <cstdint>

#include "ops/knn/knn_args.h"
#include "primitives/point_planes.h"
#include "team/launch.h"

namespace mluop::knn::native {

struct SearchArgs : Args {
  const PointPlanes& planes;  // of xyz
  int64_t tile_groups;
};

// Work items: centers. Writes their rows.
RangeKernel<SearchArgs> search_kernel();

// Points of a tile that may be among the nearest. If there are more, most distances are equal, or the points are
// in an order that is hostile to the search; the heap is as fast then.
inline constexpr int64_t kMaxCandidates = 1024;

// A point with its squared distance in the upper bits: keys order points by distance, then by index.
using Key = uint64_t;

// The NRAM of search_kernel().
struct SearchTile {
  SearchTile(Arena& nram, int64_t groups)
      : points(groups * PointPlanes::kGroupPoints),
        distances(nram.take<float>("distances", {points})),
        candidates(nram.take<int32_t>("candidates", {kMaxCandidates + PointPlanes::kGroupPoints})),
        nearest(nram.take<Key>("nearest", {kMaxK + 1 + kMaxCandidates})) {}

  int64_t points;
  float* distances;     // [points], of a center
  int32_t* candidates;  // [kMaxCandidates], and a group more: positions in the tile
  Key* nearest;         // [kMaxK + 1 + kMaxCandidates]: of the tiles before, then of this one
};

}  // namespace mluop::knn::native

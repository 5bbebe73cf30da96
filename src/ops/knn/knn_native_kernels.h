// k nearest neighbors, native algorithm: arguments and range kernel.
#pragma once

#include <cstdint>

#include "ops/knn/knn_args.h"
#include "primitives/point_grid.h"
#include "primitives/point_planes.h"
#include "primitives/probes.h"
#include "team/launch.h"

namespace mluop::knn::native {

struct SearchArgs : Args {
  const PointPlanes& planes;  // of xyz
  int64_t tile_groups;
  Probes probes;
  float* probe_distances;  // [B, probes.count], the squared distance of the (k + 1)-th neighbor; infinity if unknown
  // Null: each center is compared with all points.
  const PointGrid* grid;
  // The points within this squared distance of a center are searched first.
  float squared_radius;
  // A center with fewer points in the cells around it is searched in a greater radius.
  int64_t min_candidates;
  // A center with more points in the cells around it is compared with all points.
  int64_t max_candidates;
};

// Work items: the probes of all batches. Writes their distances and their rows.
RangeKernel<SearchArgs> probe_kernel();

// Work items: centers. Writes their rows, except those of probes.
RangeKernel<SearchArgs> search_kernel();

// Points of a tile that may be among the nearest. If there are more, most distances are equal.
inline constexpr int64_t kMaxTileCandidates = 256;

struct Candidates {
  explicit Candidates(Arena& nram)
      : distances(nram.take<float>("distances of candidates", {kCapacity})),
        indices(nram.take<int32_t>("indices of candidates", {kCapacity})) {}

  // The k + 1 nearest of the tiles before, those of a tile, and a group more.
  static constexpr int64_t kCapacity = kMaxK + 1 + kMaxTileCandidates + PointPlanes::kGroupPoints;

  float* distances;  // [kCapacity]
  int32_t* indices;  // [kCapacity]
};

// The NRAM of search_kernel().
struct SearchTile {
  SearchTile(Arena& nram, int64_t groups)
      : points(groups * PointPlanes::kGroupPoints),
        distances(nram.take<float>("distances", {points})),
        candidates(nram),
        sorted(nram) {}

  int64_t points;
  float* distances;  // [points], of a center
  Candidates candidates, sorted;
};

}  // namespace mluop::knn::native

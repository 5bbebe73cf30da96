// k nearest neighbors, native algorithm: arguments and range kernel.
#pragma once

#include <cstdint>
#include <limits>

#include "ops/knn/knn.h"
#include "primitives/geometry/point_grid.h"
#include "primitives/geometry/point_planes.h"
#include "primitives/geometry/probes.h"
#include "team/launch.h"

namespace mluop::knn::native {

// The runs of the grid that include all points whose squared distance in fp32 is at most `squared_radius`.
struct NearRuns {
  // At most 25 x 25 rows of cells.
  static constexpr int64_t kMaxRuns = 625;

  HWY_INLINE NearRuns(const PointGrid& grid, int64_t b, const float (&center)[3], float squared_radius,
                      int64_t max_runs)
      : count(grid.find_runs(b, center, PointGrid::coordinate_radius(squared_radius), max_runs, runs)) {
    if (count > max_runs) {
      candidates = std::numeric_limits<int64_t>::max();
      return;
    }
    for (int64_t i = 0; i < count; ++i) candidates += runs[i].size();
  }

  Range runs[kMaxRuns];
  int64_t count;
  int64_t candidates = 0;  // points of the runs; the maximum of int64_t if there are too many runs
};

struct SearchArgs : Args {
  const PointPlanes& planes;  // of xyz
  int64_t tile_groups;
  Probes probes;
  // [B, probes.count], the squared distance of the (k + 1)-th nearest point; infinity if unknown.
  float* probe_distances;
  // Null: each center is compared with all points.
  const PointGrid* grid;
  // The points within this squared distance of a center are searched first.
  float squared_radius;
  // A center with fewer points in the cells around it is searched in a larger radius. A center with more than
  // max_candidates in all its searches, or more rows of cells than max_runs, is compared with all points.
  int64_t min_candidates, max_candidates, max_runs;
};

// Work items: the probes of all batches. Writes their distances and their rows.
RangeKernel<SearchArgs> probe_kernel();

// Work items: centers. Writes their rows, except the rows of probes.
RangeKernel<SearchArgs> search_kernel();

// Points of a tile that may be among the nearest. If there are more, most distances are equal.
inline constexpr int64_t kMaxTileCandidates = 256;

struct Candidates {
  explicit Candidates(Arena& nram)
      : distances(nram.take<float>("distances of candidates", {kCapacity})),
        indices(nram.take<int32_t>("indices of candidates", {kCapacity})) {}

  // The k + 1 nearest of earlier tiles, the candidates of a tile, and one more group.
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
  float* distances;  // [points], distances to a center
  Candidates candidates, sorted;
};

}  // namespace mluop::knn::native

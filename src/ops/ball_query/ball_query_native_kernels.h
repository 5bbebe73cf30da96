// Ball query, native algorithm: arguments and range kernels.
#pragma once

#include <cstdint>

#include "ops/ball_query/ball_query_args.h"
#include "primitives/point_grid.h"
#include "primitives/point_planes.h"
#include "team/launch.h"

namespace mluop::ball_query::native {

// Evenly spaced centers of each batch, which are compared with all points before the others.
struct Probes {
  struct Result {
    int64_t compared, found;  // points, and members of them
  };

  int64_t center(int64_t probe) const { return probe * step + step / 2; }
  bool contain(int64_t m) const { return m < count * step && m % step == step / 2; }

  int64_t count;  // of a batch; 0: none
  int64_t step;
  Result* results;  // [B, count]
};

struct KernelArgs : Args {
  const PointPlanes& planes;  // of xyz
  Probes probes;
  // The bound of the squared distance, with the roundings of fp32, of a member.
  float candidate_squared_radius;
  // Null: each center is compared with all points.
  const PointGrid* grid;
  // A center with more points in the cells around it is compared with all points.
  int64_t max_candidates;
  // At least the difference of a coordinate of a member from the center's.
  float grid_radius;
};

// The number of points that are compared with a center at a time.
int64_t vector_points();

// Work items: the probes of all batches. Writes their results and their rows of idx.
RangeKernel<KernelArgs> probe_kernel(const Args& args);

// Work items: centers. Writes the rows of idx that have a member, except those of probes.
RangeKernel<KernelArgs> query_kernel(const Args& args);

}  // namespace mluop::ball_query::native

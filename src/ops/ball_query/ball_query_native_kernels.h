// Ball query, native algorithm: arguments and range kernels.
#pragma once

#include <cstdint>

#include "ops/ball_query/ball_query.h"
#include "primitives/geometry/point_grid.h"
#include "primitives/geometry/point_planes.h"
#include "primitives/geometry/probes.h"
#include "team/launch.h"

namespace mluop::ball_query::native {

// The result of a probe, which is compared with all points.
struct ProbeResult {
  int64_t compared, found;  // points compared, and members found
};

struct KernelArgs : Args {
  const PointPlanes& planes;  // of xyz
  Probes probes;
  ProbeResult* probe_results;  // [B, probes.count]
  // Bound of the squared distance of a member, including fp32 rounding.
  float candidate_squared_radius;
  // Null: each center is compared with all points.
  const PointGrid* grid;
  // A center with more points in the surrounding cells is compared with all points.
  int64_t max_candidates;
  // Upper bound of the distance between a member and its center along an axis.
  float grid_radius;
};

// The number of points that are compared with a center at a time.
int64_t vector_points();

// Work items: the probes of all batches. Writes their results and their rows of idx.
RangeKernel<KernelArgs> probe_kernel(const Args& args);

// Work items: centers. Writes the rows of idx that have a member, except the rows of probes.
RangeKernel<KernelArgs> query_kernel(const Args& args);

}  // namespace mluop::ball_query::native

// Ball query, native algorithm: arguments and range kernel.
#pragma once

#include <cstdint>

#include "ops/ball_query/ball_query_args.h"
#include "primitives/point_planes.h"
#include "team/launch.h"

namespace mluop::ball_query::native {

struct KernelArgs : Args {
  const PointPlanes& planes;  // of xyz
};

// Work items: centers. Writes the rows of idx that have a member.
RangeKernel<KernelArgs> query_kernel(const Args& args);

}  // namespace mluop::ball_query::native

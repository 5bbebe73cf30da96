// Points in boxes, native algorithm: arguments and range kernel.
#pragma once

#include <cstdint>

#include "ops/points_in_boxes/points_in_boxes.h"
#include "primitives/geometry/point_boxes.h"
#include "team/launch.h"

namespace mluop::points_in_boxes::native {

// Consecutive points of a batch that are compared with the bounds of boxes together; in a scan they are near each
// other.
inline constexpr int64_t kGroupPoints = 64;

struct KernelArgs : Args {
  const PointBoxes& prepared;
};

// Work items: (b, group of points). Writes the first box of each point, or for each box a 1 if it contains the
// point.
RangeKernel<KernelArgs> test_kernel(Result result);

}  // namespace mluop::points_in_boxes::native

// RoI-aware pooling, forward, native algorithm: arguments and range kernel.
#pragma once

#include <cstdint>

#include "ops/roiaware_pool3d/roiaware_pool3d.h"
#include "primitives/geometry/bounded_points.h"
#include "primitives/geometry/point_boxes.h"
#include "team/launch.h"

namespace mluop::roiaware_pool3d::forward::native {

struct PoolArgs : ForwardArgs {
  const PointBoxes& prepared_rois;
  const BoundedPoints& points;
  int32_t* counts;  // [taskDim, roi_voxels()]: scratch
  bool stream;      // the outputs bypass the caches
};

// Work items: RoIs. Writes all elements of the outputs of a RoI.
RangeKernel<PoolArgs> pool_kernel(mluOpDataType_t dtype);

}  // namespace mluop::roiaware_pool3d::forward::native

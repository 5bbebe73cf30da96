// RoI-point pooling, native algorithm: arguments, tile in NRAM and range kernel.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/roipoint_pool3d/roipoint_pool3d.h"
#include "primitives/geometry/bounded_points.h"
#include "primitives/geometry/point_boxes.h"
#include "team/launch.h"

namespace mluop::roipoint_pool3d::native {

struct SampleArgs : Args {
  const PointBoxes& boxes;
  const BoundedPoints& bounded_points;
  int32_t* samples;   // [taskDim, S]: scratch
  int64_t tile_rows;  // sampled points that are written together
  bool stream;        // the outputs bypass the caches
};

// Work items: boxes of all batches. Writes all elements of the outputs of a box.
RangeKernel<SampleArgs> sample_kernel(mluOpDataType_t dtype);

// Sampled points, as they are written. T: an element type.
template <class T>
struct SampleTile {
  SampleTile(Arena& nram, int64_t row_count, int64_t row) : rows(nram.take<T>("rows", {row_count, row})) {}

  T* rows;  // [row_count, row]
};

}  // namespace mluop::roipoint_pool3d::native

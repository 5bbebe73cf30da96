// Points with the bounds of each group of consecutive points: a search for the points of a box skips groups whose
// bounds the box does not meet. The search is in bounded_points-inl.h.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "primitives/geometry/box_bounds.h"
#include "primitives/geometry/point_planes.h"
#include "team/launch.h"

namespace mluop {

// The points of all batches.
struct BoundedPoints {
  BoundedPoints(Arena& arena, int64_t batches, int64_t points)
      : planes(arena, batches, points),
        per_batch(round_up(planes.groups, BoxBounds::kGroupBoxes)),
        bounds(arena, batches * per_batch) {}

  PointPlanes planes;
  int64_t per_batch;  // bounds of a batch, padded to whole groups with bounds that never meet
  BoxBounds bounds;   // bounds of each group of points
};

// Computes the bounds of points [B, N, 3] of any element type.
void bound_points(Context& context, const BoundedPoints& bounded, mluOpDataType_t dtype, const void* points);

}  // namespace mluop

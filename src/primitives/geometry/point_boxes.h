// 3-D boxes that contain points: data shared by the tests of a box, and its bounds in the plane. The test itself
// is in point_boxes-inl.h.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "primitives/geometry/box_bounds.h"
#include "team/launch.h"

namespace mluop {

// The rule by which a box (x, y, z, dx, dy, dz, yaw) contains points.
enum class BoxRule {
  kCentered,    // z is the center; dx / 2 and dy / 2 are enlarged by 1e-5: MLU-OPS, OpenPCDet
  kOnItsBottom  // z is the bottom face; points on the other faces are outside: mmcv
};

// Data shared by the tests of a box. With d the difference of point and center, the box contains the point if |dx
// cosine + dy sine| < reach_u, |dy cosine - dx sine| < reach_v and not |dz| > reach_z, in fp32.
struct PointBox {
  float x, y, z;                    // the center
  float cosine, sine;               // of yaw
  float reach_u, reach_v, reach_z;  // from the center
};

// The boxes of all batches.
struct PointBoxes {
  PointBoxes(Arena& arena, int64_t batches, int64_t boxes_of_batch)
      : B(batches),
        T(boxes_of_batch),
        per_batch(round_up(T, BoxBounds::kGroupBoxes)),
        boxes(arena.take<PointBox>("boxes", {B, per_batch})),
        bounds(arena, B * per_batch) {}

  int64_t B, T;
  int64_t per_batch;  // boxes of a batch, padded to whole groups with bounds that meet no other
  PointBox* boxes;    // [B, per_batch]
  BoxBounds bounds;   // bounds of each box; they contain each point inside the box
};

// Prepares boxes [B, T, 7] of any element type.
void prepare_boxes(Context& context, const PointBoxes& prepared, BoxRule rule, mluOpDataType_t dtype,
                   const void* boxes);

}  // namespace mluop

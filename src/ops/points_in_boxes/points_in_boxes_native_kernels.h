// Points in boxes, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "ops/points_in_boxes/points_in_boxes_args.h"
#include "primitives/box_bounds.h"
#include "team/launch.h"

namespace mluop::points_in_boxes::native {

// Consecutive points of a batch that are compared with the bounds of boxes at once: those of a scan are near each
// other.
inline constexpr int64_t kGroupPoints = 64;

// What the tests of a box share. With d the difference of point and center, the box contains the point if
// |dx cosine + dy sine| < reach_u, |dy cosine - dx sine| < reach_v and not |dz| > reach_z, in fp32.
struct Box {
  float x, y, z;                    // the center
  float cosine, sine;               // of yaw
  float reach_u, reach_v, reach_z;  // from the center
};

struct PreparedBoxes {
  PreparedBoxes(Arena& arena, int64_t B, int64_t T)
      : per_batch(round_up(T, BoxBounds::kGroupBoxes)),
        boxes(arena.take<Box>("boxes", {B, per_batch})),
        bounds(arena, B * per_batch) {}

  int64_t per_batch;  // a batch is padded to whole groups, with bounds that meet no other
  Box* boxes;         // [B, per_batch]
  BoxBounds bounds;
};

struct KernelArgs : Args {
  const PreparedBoxes& prepared;
};

// Work items: (b, group of boxes).
RangeKernel<KernelArgs> prepare_kernel();

// Work items: (b, group of points). Writes the first box of each point; of each box, the ones among zeros.
RangeKernel<KernelArgs> test_kernel(Result result);

}  // namespace mluop::points_in_boxes::native

// Dynamic scatter backward: errors of invalid map values and invalid voxel counts.
#pragma once

#include "core/checks.h"
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"
#include "team/atomics.h"

namespace mluop::dynamic_scatter_backward {

// Throws Failure with BAD_PARAM if a launch has reported a point with an invalid map value or a voxel with an
// invalid count.
inline void check_map(const Args& args, const FirstBadItem& bad_point) {
  if (!bad_point.found()) return;
  const int64_t point = bad_point.item();
  const int32_t voxel = args.point2voxel_map[point];
  if (0 <= voxel && voxel < args.voxel_count) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("voxel_points_count[", voxel, "] is ", args.voxel_points_count[voxel],
                       ", expected at least 1: point2voxel_map[", point, "] is this voxel"));
  }
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text("point2voxel_map[", point, "] is ", voxel,
                     ", expected -1 or a voxel below voxel_num[0], which is ", args.voxel_count));
}

}  // namespace mluop::dynamic_scatter_backward

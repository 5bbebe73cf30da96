// Dynamic scatter backward: the error of an invalid value of the map.
#pragma once

#include "core/checks.h"
#include "ops/dynamic_scatter_backward/args.h"
#include "team/atomics.h"

namespace mluop::dynamic_scatter_backward {

// Throws Failure with BAD_PARAM if a launch has reported a point whose value is invalid.
inline void check_map(const Args& args, const FirstBadItem& bad_point) {
  if (!bad_point.found()) return;
  const int64_t point = bad_point.item();
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text("point2voxel_map[", point, "] is ", args.point2voxel_map[point],
                     ", expected -1 or a voxel below voxel_num[0], which is ", args.voxel_count));
}

}  // namespace mluop::dynamic_scatter_backward

// Bird's-eye overlap of 3-D boxes, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstdint>

#include "core/sizes.h"
#include "ops/boxes_overlap_bev/boxes_overlap_bev.h"
#include "primitives/geometry/bev_box.h"
#include "team/launch.h"

namespace mluop::boxes_overlap_bev::native {

using BoxSet = BoundedBoxes<BevBox>;

struct PreparedBoxes {
  PreparedBoxes(Arena& arena, int64_t N, int64_t M) : a(arena, N), b(arena, M) {}

  BoxSet a, b;
};

struct KernelArgs : Args {
  const PreparedBoxes& boxes;
};

// Work items: groups of boxes_a, then of boxes_b.
RangeKernel<KernelArgs> prepare_kernel();

// Work items: (n, group of boxes_b). Writes every overlap.
RangeKernel<KernelArgs> intersect_kernel();

}  // namespace mluop::boxes_overlap_bev::native

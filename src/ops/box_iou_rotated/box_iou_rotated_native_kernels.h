// IoU of rotated boxes, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstdint>

#include "ops/box_iou_rotated/box_iou_rotated_args.h"
#include "primitives/geometry/box_bounds.h"
#include "team/launch.h"

namespace mluop::box_iou_rotated::native {

using Boxes = BoundedBoxes<RotatedBox>;

struct PrepareArgs {
  const float* from;  // [count, 5]
  const Boxes& to;
};

// Work items: boxes.
void prepare(const PrepareArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: the pairs of an aligned call.
void compute_aligned(const Args& args, int64_t begin, int64_t end, Task& task);

struct PairArgs : Args {
  const Boxes &first, &second;
};

// Work items: (box of bbox1, group of bbox2).
RangeKernel<PairArgs> pairs_kernel();

}  // namespace mluop::box_iou_rotated::native

// IoU of rotated boxes: the arguments of a call.
#pragma once

#include <cstdint>

#include "primitives/geometry/rotated_box.h"

namespace mluop::box_iou_rotated {

// The arguments of the call, checked.
struct Args {
  int64_t N, M;
  OverlapMode mode;
  bool aligned;        // N = M
  const float* bbox1;  // [N, 5]
  const float* bbox2;  // [M, 5]
  float* ious;         // [N, M]; aligned: [N]
};

}  // namespace mluop::box_iou_rotated

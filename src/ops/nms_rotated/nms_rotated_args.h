// NMS of rotated boxes: the arguments of a call.
#pragma once

#include <cstdint>

namespace mluop::nms_rotated {

// The arguments of the call, checked.
struct Args {
  int64_t N;
  int64_t columns;  // 5, or 6 with labels (ignored)
  float iou_threshold;
  const float* boxes;   // [N, columns]
  const float* scores;  // [N]
  int32_t* output;      // [N]
  int32_t* result_num;  // [1]
};

}  // namespace mluop::nms_rotated

// NMS match: the arguments of a call.
#pragma once

#include <cstdint>

namespace mluop::nms_match {

// The columns of dets: x1, y1, x2, y2 and score.
inline constexpr int64_t kColumns = 5;

// The arguments of the call, checked.
struct Args {
  int64_t N;
  float iou_threshold;
  const float* dets;     // [N, kColumns]
  int32_t* members;      // [N]
  int32_t* group_sizes;  // [N]
  int32_t* group_num;    // [1]
};

}  // namespace mluop::nms_match

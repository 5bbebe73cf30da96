// The IoU of two rectangles x1, y1, x2, y2, in fp32; `offset` is added to widths and heights. NaN if a number of
// either is NaN.
#pragma once

#include <algorithm>

namespace mluop::reference {

// The length that two intervals share.
inline float shared_length(float low_a, float high_a, float low_b, float high_b, float offset) {
  return std::max(0.0F, std::min(high_a, high_b) - std::max(low_a, low_b) + offset);
}

inline float rectangle_iou(const float* a, const float* b, float offset) {
  const auto area = [offset](const float* box) { return (box[2] - box[0] + offset) * (box[3] - box[1] + offset); };
  const float both = shared_length(a[0], a[2], b[0], b[2], offset) * shared_length(a[1], a[3], b[1], b[3], offset);
  return both / (area(a) + area(b) - both);
}

}  // namespace mluop::reference

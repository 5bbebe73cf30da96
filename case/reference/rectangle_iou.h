// The IoU of two rectangles x1, y1, x2, y2, in fp32; `offset` is added to widths and heights. A rectangle with a
// non-positive width or height is empty: its IoU is 0, or NaN if a number of the other rectangle is NaN.
#pragma once

#include <algorithm>

namespace mluop::reference {

// The length shared by two intervals.
inline float shared_length(float low_a, float high_a, float low_b, float high_b, float offset) {
  return std::max(0.0F, std::min(high_a, high_b) - std::max(low_a, low_b) + offset);
}

inline float rectangle_iou(const float* a, const float* b, float offset) {
  const auto area = [offset](const float* box) {
    const float width = box[2] - box[0] + offset, height = box[3] - box[1] + offset;
    // An empty rectangle shares nothing: any positive number serves as its area.
    return width <= 0 || height <= 0 ? 1.0F : width * height;
  };
  const float both = shared_length(a[0], a[2], b[0], b[2], offset) * shared_length(a[1], a[3], b[1], b[3], offset);
  return both / (area(a) + area(b) - both);
}

}  // namespace mluop::reference

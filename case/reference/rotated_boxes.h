// IoU and non-maximum suppression of rotated boxes by their definitions, in long double. The oracles of the tests
// and the baselines of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct BoxIouRotatedProblem {
  int64_t N, M;
  bool is_over_first;  // intersection over foreground: over the area of the first box
  bool is_aligned;     // compares only boxes with equal indices; M is N
};

// Each box is x, y, width, height and angle. Quotients are rounded once.
void box_iou_rotated(const BoxIouRotatedProblem& problem, const float* bbox1, const float* bbox2, float* ious);

struct NmsRotatedProblem {
  int64_t N, columns;  // number and columns of boxes; columns after the angle are not read
  float iou_threshold;
};

// The library must return the same indices.
void nms_rotated(const NmsRotatedProblem& problem, const float* boxes, const float* scores, int32_t* output,
                 int32_t* result_num);

}  // namespace mluop::reference

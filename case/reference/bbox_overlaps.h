// IoU of axis-aligned boxes by its definition: a serial loop in fp32, whose bits the library returns. The oracle
// of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct BboxOverlapsProblem {
  int64_t N, M;
  bool is_over_first;  // intersection over foreground: over the area of the first box
  bool is_aligned;     // compares only boxes with equal indices; M is N
  float offset;
};

// Each box is x1, y1, x2, y2.
void bbox_overlaps(const BboxOverlapsProblem& problem, const float* bbox1, const float* bbox2, float* ious);

}  // namespace mluop::reference

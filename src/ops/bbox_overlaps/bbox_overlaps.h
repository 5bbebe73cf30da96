// IoU of axis-aligned boxes: the arguments of its kernels.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop::bbox_overlaps {

struct Args {
  int64_t N, M;
  bool is_over_first, is_aligned;
  float offset;
  mluOpDataType_t dtype;
  const void *bbox1, *bbox2;  // [N, 4], [M, 4]
  void* ious;                 // [N, M]; aligned: [N]
  const float* columns;       // [4, M]: the second boxes, column by column
};

// Second boxes of a work item: their columns and the overlaps stay in L1.
constexpr int64_t kChunk = 1024;

// Work items: (n, kChunk second boxes), chunks fastest.
RangeKernel<Args> pairs_kernel(mluOpDataType_t dtype);
// Work items: pairs of boxes with equal indices.
RangeKernel<Args> aligned_kernel(mluOpDataType_t dtype);

}  // namespace mluop::bbox_overlaps

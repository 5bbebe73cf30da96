// Soft NMS: the arguments of a call.
#pragma once

#include <cstdint>

#include "mlu_op_omp.h"

namespace mluop::soft_nms {

// The columns of dets: the numbers of a box, and the score.
inline constexpr int64_t kColumns = 5;

// The arguments of the call, checked.
struct Args {
  int64_t N;
  mluOpOmpSoftNmsMethod_t method;
  float iou_threshold;
  float sigma;
  float min_score;
  float offset;
  const float* boxes;   // [N, 4]: x1, y1, x2, y2
  const float* scores;  // [N]
  float* dets;          // [N, kColumns]
  int32_t* inds;        // [N]
  int32_t* result_num;  // [1]
};

}  // namespace mluop::soft_nms

// Soft NMS: the algorithm and the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "mlu_op_omp.h"
#include "team/operator_call.h"

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

namespace native {

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::soft_nms

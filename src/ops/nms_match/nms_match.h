// NMS match: the algorithm and the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "team/operator_call.h"

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

namespace native {

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::nms_match

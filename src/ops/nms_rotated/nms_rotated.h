// NMS of rotated boxes: the algorithm and the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "team/operator_call.h"

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

namespace native {

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::nms_rotated

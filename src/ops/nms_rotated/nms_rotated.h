// NMS of rotated boxes and of quadrilaterals: the algorithm and the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "team/operator_call.h"

namespace mluop::nms_rotated {

enum class Order { kByScore, kByIndex };

// The arguments of the call, checked.
struct Args {
  int64_t N;
  int64_t columns;  // of a row of boxes
  float iou_threshold;
  const float* boxes;   // [N, columns]: the numbers of a box first
  const float* scores;  // [N], score_step apart
  int64_t score_step;
  Order order;          // of the output
  int32_t* output;      // [N]
  int32_t* result_num;  // [1]
};

namespace native {

// Box: RotatedBox or Quadrilateral. Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
template <class Box>
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
template <class Box>
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::nms_rotated

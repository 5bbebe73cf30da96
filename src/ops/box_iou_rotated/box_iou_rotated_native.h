// IoU of rotated boxes, native algorithm: the decisions of a call, and its launches.
#pragma once

#include "ops/box_iou_rotated/box_iou_rotated_args.h"
#include "team/operator_call.h"

namespace mluop::box_iou_rotated::native {

// Computes the output. Throws std::bad_alloc before it writes it.
void run(Call& call, const Args& args);

}  // namespace mluop::box_iou_rotated::native

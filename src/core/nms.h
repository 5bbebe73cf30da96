// The NMS descriptor: a value that src/api/nms_descriptor.cpp sets and the operator reads.
#pragma once

#include "mlu_op.h"

// The arguments of mluOpSetNmsDescriptor, checked.
struct mluOpNmsStruct {
  bool is_set = false;
  mluOpNmsBoxPointMode_t box_mode = MLUOP_NMS_BOX_DIAGONAL;
  mluOpNmsOutputMode_t output_mode = MLUOP_NMS_OUTPUT_TARGET_INDICES;
  mluOpNmsAlgo_t algo = MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY;
  mluOpNmsMethodMode_t method_mode = MLUOP_NMS_HARD_NMS;
  float iou_threshold = 0, soft_nms_sigma = 0;
  int max_output_size = 0;
  float confidence_threshold = 0, offset = 0;
  int input_layout = 0;
  bool pad_to_max_output_size = false;
};

namespace mluop {

using NmsDescriptor = mluOpNmsStruct;

}  // namespace mluop

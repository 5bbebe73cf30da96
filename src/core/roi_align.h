// The RoI align descriptor: a value that src/api/roi_align_descriptor.cpp sets and the operator reads.
#pragma once

#include "mlu_op.h"

// The arguments of mluOpSetRoiAlignForwardDescriptor_v2, checked.
struct mluOpRoiAlignForwardStruct {
  bool is_set = false;
  int pooled_height = 0, pooled_width = 0, sampling_ratio = 0;
  float spatial_scale = 0;
  int pool_mode = 0;
  bool aligned = false;
};

namespace mluop {

using RoiAlignForwardDescriptor = mluOpRoiAlignForwardStruct;

}  // namespace mluop

// The AdamW descriptor: a value that src/api/adamw_descriptor.cpp sets and the operator reads.
#pragma once

#include "mlu_op.h"

// The attributes of mluOpSetAdamWDescAttr.
struct mluOpAdamWStruct {
  float weight_decay = 0, grad_scale = 1;
  bool use_nesterov = false, need_remove_nan = false;
};

namespace mluop {

using AdamWDescriptor = mluOpAdamWStruct;

}  // namespace mluop

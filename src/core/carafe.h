// The CARAFE descriptor: a value that src/api/carafe_descriptor.cpp sets and the operators read.
#pragma once

#include "mlu_op.h"

// The arguments of mluOpSetCarafeDescriptor, checked.
struct mluOpCarafeStruct {
  bool is_set = false;
  int dim_count = 0;  // 4
  int kernel_size = 0, group_size = 0, scale_factor = 0;
};

namespace mluop {

using CarafeDescriptor = mluOpCarafeStruct;

}  // namespace mluop

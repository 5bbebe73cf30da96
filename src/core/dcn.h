// The descriptor of a deformable convolution: a value that src/api/dcn_descriptor.cpp sets and the operators read.
#pragma once

#include <array>
#include <cstdint>

#include "mlu_op.h"

// The arguments of mluOpSetDCNDescriptor, checked.
struct mluOpDCNStruct {
  bool is_set = false;
  int dim_count = 0;                  // 4
  std::array<int32_t, 4> pad{};       // top, bottom, left, right
  std::array<int32_t, 2> stride{};    // along height and width
  std::array<int32_t, 2> dilation{};  // along height and width
  int32_t deformable_group = 1, conv_group = 1, im2col_step = 1;
};

namespace mluop {

using DcnDescriptor = mluOpDCNStruct;

}  // namespace mluop

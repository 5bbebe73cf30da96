// The sparse convolution descriptor: a value that src/api/sparse_convolution_descriptor.cpp sets. The operator
// that computes the index pairs reads it and stores the number of output sites.
#pragma once

#include <array>
#include <cstdint>

#include "mlu_op.h"

// Arrays are ordered depth, height, width. With two spatial dimensions, depth has one cell.
struct mluOpSparseConvolutionStruct {
  using Extent = std::array<int32_t, 3>;

  int dim_count = 0;  // 5 or 4, with batch and channels; 0: not set
  int32_t batch_size = 0;
  Extent pad{}, stride{}, dilation{}, input_space{}, filter_space{}, output_space{};
  bool sub_m = false;
  int num_act_out = 0;
};

namespace mluop {

using SparseConvolutionDescriptor = mluOpSparseConvolutionStruct;

}  // namespace mluop

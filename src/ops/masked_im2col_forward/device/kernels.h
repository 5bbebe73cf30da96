// Masked im2col forward: range kernel of the device algorithm.
#pragma once

#include <cstddef>

#include "ops/masked_im2col_forward/args.h"
#include "team/launch.h"

namespace mluop::masked_im2col_forward::device {

struct CopyArgs {
  const Args& call;
  const std::byte* feature;  // [H, W, C]
  std::byte* data_col;       // [mask_cnt, kernel_h * kernel_w, C], zeros
};

// Work items: masks. Copies the part of each window that lies in the feature, from GDRAM to GDRAM.
void copy_windows(const CopyArgs& args, int64_t begin, int64_t end, Task& task);

}  // namespace mluop::masked_im2col_forward::device

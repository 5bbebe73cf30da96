// Masked im2col forward: the arguments of a call.
//
// Letters as in the design document: C channels, H rows and W columns of the feature, masks, kernel_h x kernel_w
// kernel offsets (i, j). A plane is one channel of the feature. Elements are copied bit by bit: half and float use
// implementations for 2 and 4 bytes.
#pragma once

#include <cstdint>

namespace mluop::masked_im2col_forward {

// The arguments of the call, checked.
struct Args {
  int64_t kernel_size() const { return kernel_h * kernel_w; }
  int64_t pixel_bytes() const { return channels * element_size; }  // of a pixel with all channels

  int32_t element_size;             // bytes: 2 or 4
  int64_t channels, height, width;  // sizes of the feature
  int64_t mask_cnt;
  int64_t kernel_h, kernel_w, pad_h, pad_w;  // int32 values; 64 bits, so that no mask coordinate overflows
  const void* feature;                       // [1, C, H, W]
  const int32_t* mask_h_idx;                 // [mask_cnt]
  const int32_t* mask_w_idx;                 // [mask_cnt]
  void* data_col;                            // [C * kernel_h * kernel_w, mask_cnt]
};

}  // namespace mluop::masked_im2col_forward

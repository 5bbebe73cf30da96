// Masked im2col forward by its definition: the serial loop of the design document. The oracle of the tests and the
// baseline of the perf suite. Elements are bit patterns of 2 or 4 bytes, which the loop copies.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct MaskedIm2colForwardSizes {
  int64_t channels, height, width, mask_cnt;
  int kernel_h, kernel_w, pad_h, pad_w;

  int64_t feature_count() const { return channels * height * width; }
  int64_t row_count() const { return channels * kernel_h * kernel_w; }
  int64_t output_count() const { return row_count() * mask_cnt; }
};

// T: uint16_t for half, uint32_t for float.
template <class T>
void masked_im2col_forward(const MaskedIm2colForwardSizes& sizes, const T* feature, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* data_col);

}  // namespace mluop::reference

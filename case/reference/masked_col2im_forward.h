// Masked col2im forward by its definition, a serial loop. The oracle of the tests and the baseline of the perf
// suite. Elements are bit patterns of 2 or 4 bytes, which the loop copies.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct MaskedCol2imForwardSizes {
  int64_t channels, height, width, mask_cnt;

  int64_t input_count() const { return channels * mask_cnt; }
  int64_t output_count() const { return channels * height * width; }
};

// T: uint16_t for half, uint32_t for float.
template <class T>
void masked_col2im_forward(const MaskedCol2imForwardSizes& sizes, const T* col, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* im);

}  // namespace mluop::reference

// Masked im2col and col2im forward by their definitions, serial loops. The oracles of the tests and the baselines
// of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct MaskedCol2imForwardSizes {
  int64_t channels, height, width, mask_cnt;
};

// T: uint16_t for half, uint32_t for float: the loop copies bits.
template <class T>
void masked_col2im_forward(const MaskedCol2imForwardSizes& sizes, const T* col, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* im);

struct MaskedIm2colForwardSizes {
  int64_t channels, height, width, mask_cnt;
  int kernel_h, kernel_w, pad_h, pad_w;
};

// T: uint16_t for half, uint32_t for float: the loop copies bits.
template <class T>
void masked_im2col_forward(const MaskedIm2colForwardSizes& sizes, const T* feature, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* data_col);

}  // namespace mluop::reference

#include "reference/masked_convolution.h"

#include <algorithm>

namespace mluop::reference {

template <class T>
void masked_col2im_forward(const MaskedCol2imForwardSizes& sizes, const T* col, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* im) {
  std::fill_n(im, sizes.channels * sizes.height * sizes.width, T{0});
  for (int64_t c = 0; c < sizes.channels; ++c) {
    for (int64_t k = 0; k < sizes.mask_cnt; ++k) {
      im[(c * sizes.height + mask_h_idx[k]) * sizes.width + mask_w_idx[k]] = col[c * sizes.mask_cnt + k];
    }
  }
}

template void masked_col2im_forward(const MaskedCol2imForwardSizes&, const uint16_t*, const int32_t*,
                                    const int32_t*, uint16_t*);
template void masked_col2im_forward(const MaskedCol2imForwardSizes&, const uint32_t*, const int32_t*,
                                    const int32_t*, uint32_t*);

template <class T>
void masked_im2col_forward(const MaskedIm2colForwardSizes& sizes, const T* feature, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* data_col) {
  for (int64_t c = 0; c < sizes.channels; ++c) {
    const T* plane = feature + c * sizes.height * sizes.width;
    for (int i = 0; i < sizes.kernel_h; ++i) {
      for (int j = 0; j < sizes.kernel_w; ++j) {
        for (int64_t k = 0; k < sizes.mask_cnt; ++k) {
          const int64_t h = int64_t{mask_h_idx[k]} - sizes.pad_h + i;
          const int64_t w = int64_t{mask_w_idx[k]} - sizes.pad_w + j;
          const bool inside = h >= 0 && w >= 0 && h < sizes.height && w < sizes.width;
          *data_col++ = inside ? plane[h * sizes.width + w] : T{0};
        }
      }
    }
  }
}

template void masked_im2col_forward(const MaskedIm2colForwardSizes&, const uint16_t*, const int32_t*,
                                    const int32_t*, uint16_t*);
template void masked_im2col_forward(const MaskedIm2colForwardSizes&, const uint32_t*, const int32_t*,
                                    const int32_t*, uint32_t*);

}  // namespace mluop::reference

#include "reference/masked_im2col_forward.h"

namespace mluop::reference {

template <class T>
void masked_im2col_forward(const MaskedIm2colForwardSizes& sizes, const T* feature, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* data_col) {
  for (int64_t c = 0; c < sizes.channels; ++c) {
    const T* plane = feature + c * sizes.height * sizes.width;
    for (int64_t k = 0; k < sizes.mask_cnt; ++k) {
      const int64_t h_offset = int64_t{mask_h_idx[k]} - sizes.pad_h;
      const int64_t w_offset = int64_t{mask_w_idx[k]} - sizes.pad_w;
      T* out = data_col + c * sizes.kernel_h * sizes.kernel_w * sizes.mask_cnt + k;
      for (int i = 0; i < sizes.kernel_h; ++i) {
        const int64_t h = h_offset + i;
        for (int j = 0; j < sizes.kernel_w; ++j) {
          const int64_t w = w_offset + j;
          const bool inside = h >= 0 && w >= 0 && h < sizes.height && w < sizes.width;
          *out = inside ? plane[h * sizes.width + w] : T{0};
          out += sizes.mask_cnt;
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

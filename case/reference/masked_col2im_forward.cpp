#include "reference/masked_col2im_forward.h"

namespace mluop::reference {

template <class T>
void masked_col2im_forward(const MaskedCol2imForwardSizes& sizes, const T* col, const int32_t* mask_h_idx,
                           const int32_t* mask_w_idx, T* im) {
  for (int64_t i = 0; i < sizes.output_count(); ++i) im[i] = T{0};
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

}  // namespace mluop::reference

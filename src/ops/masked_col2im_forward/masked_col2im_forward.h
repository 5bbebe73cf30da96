// Masked col2im forward: the algorithm and the arguments of a call.
//
// Letters as in the design document: C channels, H rows and W columns of the image, masks. A plane is one channel
// of the image. Elements are copied bit by bit: half and float use implementations for 2 and 4 bytes.
#pragma once

#include <cstdint>

#include "team/operator_call.h"

namespace mluop::masked_col2im_forward {

// The arguments of the call, checked except for the values of the masks.
struct Args {
  int64_t plane() const { return height * width; }
  // The pixel of mask k in a plane.
  int64_t pixel(int64_t k) const { return mask_h_idx[k] * width + mask_w_idx[k]; }
  bool has_row(int64_t h) const { return h >= 0 && h < height; }
  bool has_column(int64_t w) const { return w >= 0 && w < width; }

  int32_t element_size;  // bytes: 2 or 4
  int64_t channels, height, width;
  int64_t mask_cnt;
  const void* col;            // [C, mask_cnt]
  const int32_t* mask_h_idx;  // [mask_cnt]
  const int32_t* mask_w_idx;  // [mask_cnt]
  void* im;                   // [1, C, H, W]
};

namespace native {

// Computes the output. Throws std::bad_alloc, and Failure with BAD_PARAM for the first mask outside the image,
// before it writes the output.
void run(Call& call, const Args& args);

}  // namespace native
}  // namespace mluop::masked_col2im_forward

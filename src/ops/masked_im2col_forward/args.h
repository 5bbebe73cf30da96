// Masked im2col forward: the arguments of a call.
//
// Letters as in the design document: C channels, H rows and W columns of the feature, masks, kernel_h x kernel_w
// kernel offsets (i, j). A plane is one channel of the feature. Elements are copied bit by bit: one implementation
// for 2 bytes and one for 4 serve half and float.
//
// Work items: a group of channels, whose elements at one pixel fill kPixelBytes, times a line of masks, which fill
// a cache line of an output row; groups outermost. With one group this is the document's split of masks.
#pragma once

#include <cstdint>

#include "core/caches.h"
#include "core/sizes.h"

namespace mluop::masked_im2col_forward {

// Bytes of a pixel of a group of channels.
inline constexpr int64_t kPixelBytes = 16;

// The arguments of the call, checked.
struct Args {
  int64_t group_channels() const { return kPixelBytes / element_size; }
  int64_t line_masks() const { return kCacheLine / element_size; }
  int64_t group_count() const { return ceil_div(channels, group_channels()); }
  int64_t line_count() const { return ceil_div(mask_cnt, line_masks()); }
  int64_t item_count() const { return group_count() * line_count(); }

  int32_t element_size;             // bytes: 2 or 4
  int64_t channels, height, width;  // of the feature
  int64_t mask_cnt;
  int64_t kernel_h, kernel_w, pad_h, pad_w;  // int32 values; 64-bit arithmetic admits any mask coordinate
  const void* feature;                       // [1, C, H, W]
  const int32_t* mask_h_idx;                 // [mask_cnt]
  const int32_t* mask_w_idx;                 // [mask_cnt]
  void* data_col;                            // [C * kernel_h * kernel_w, mask_cnt]
};

}  // namespace mluop::masked_im2col_forward

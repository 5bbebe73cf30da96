// Masked im2col forward: where the planes of a group of channels lie in NRAM, packed: the elements of all channels
// at a pixel next to each other, and zeros around the feature.
//
//   kernel_h rows of zeros
//   H rows: kernel_w - 1 zeros, W pixels
//   kernel_h - 1 rows of zeros, and kernel_w - 1 zeros
//
// The zeros before a row are also those behind the row above. So the pixels of a mask that touches the feature are
// the same distances apart for every mask, inside or outside; and a mask that does not touch it reads the same as
// one at the begin: zeros alone.
#pragma once

#include <cstdint>
#include <limits>

#include "ops/masked_im2col_forward/kernels.h"

namespace mluop::masked_im2col_forward {

struct PackedPlane {
  explicit PackedPlane(const Args& call)
      : row_pixels(call.width + call.kernel_w - 1),
        first_pixel(call.kernel_h * row_pixels + call.kernel_w - 1),
        pixel_count((call.height + 2 * call.kernel_h - 1) * row_pixels + call.kernel_w - 1) {}

  // Whether every offset fits int32; ask before making one.
  static bool representable(const Args& call) {
    constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max() / kPixelBytes;
    const auto bound = checked_product(call.height + 2 * call.kernel_h, call.width + 2 * call.kernel_w);
    return bound && *bound <= kMostPixels;
  }

  int64_t bytes() const { return pixel_count * kPixelBytes; }

  // Bytes from the begin to the upper left pixel of a mask, at row h and column w of the feature.
  int32_t offset_of(const Args& call, int64_t h, int64_t w) const {
    const bool touches = h > -call.kernel_h && h < call.height && w > -call.kernel_w && w < call.width;
    return touches ? static_cast<int32_t>((first_pixel + h * row_pixels + w) * kPixelBytes) : 0;
  }

  int64_t row_pixels;   // from a pixel to the one below
  int64_t first_pixel;  // of the feature
  int64_t pixel_count;
};

}  // namespace mluop::masked_im2col_forward

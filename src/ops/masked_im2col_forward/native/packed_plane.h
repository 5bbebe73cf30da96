// Masked im2col forward: the planes of a group of channels in NRAM, packed: the elements of all channels at a
// pixel are adjacent, and zeros surround the feature.
//
//   kernel_h rows of zeros
//   H rows: kernel_w - 1 zeros, W pixels
//   kernel_h - 1 rows of zeros, and kernel_w - 1 zeros
//
// The zeros before a row also follow the row above it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "ops/masked_im2col_forward/native/kernels.h"

namespace mluop::masked_im2col_forward::native {

// Distances between the pixels of a mask are the same for every mask that touches the feature. A mask that does
// not touch it reads zeros, as one at offset 0 does.
struct PackedPlane {
  explicit PackedPlane(const Args& call)
      : row_pixels(call.width + call.kernel_w - 1),
        first_pixel(call.kernel_h * row_pixels + call.kernel_w - 1),
        pixel_count((call.height + 2 * call.kernel_h - 1) * row_pixels + call.kernel_w - 1) {}

  // Whether every offset fits int32: a precondition of the constructor.
  static bool representable(const Args& call) {
    constexpr int64_t kMaxPixels = std::numeric_limits<int32_t>::max() / kPixelBytes;
    const auto bound = checked_product(call.height + 2 * call.kernel_h, call.width + 2 * call.kernel_w);
    return bound && *bound <= kMaxPixels;
  }

  // The offset, in bytes, of the upper left pixel of a mask: row h and column w of the feature.
  int32_t offset(const Args& call, int64_t h, int64_t w) const {
    const bool touches = h > -call.kernel_h && h < call.height && w > -call.kernel_w && w < call.width;
    return touches ? static_cast<int32_t>((first_pixel + h * row_pixels + w) * kPixelBytes) : 0;
  }

  int64_t row_pixels;   // from a pixel to the pixel below it
  int64_t first_pixel;  // of the feature
  int64_t pixel_count;
};

// The NRAM of packed_kernel.
struct PackedBuffers {
  PackedBuffers(Arena& nram, const PackedPlane& plane, int64_t located_masks, int64_t tile_masks)
      : pixels(nram.take<std::byte>("packed pixels", {plane.pixel_count, kPixelBytes})),
        offsets(nram.take<int32_t>("offsets", {located_masks})),
        rows(nram.take<std::byte>("rows", {tile_masks, kPixelBytes})) {}

  std::byte* pixels;  // [pixel_count, group_channels] elements of the feature
  int32_t* offsets;   // [located_masks], of the upper left pixel of a mask in `pixels`
  std::byte* rows;    // [group_channels, tile_masks] elements of the output
};

}  // namespace mluop::masked_im2col_forward::native

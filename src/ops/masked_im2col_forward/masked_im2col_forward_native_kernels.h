// Masked im2col forward, native algorithm: work items, arguments, NRAM and range kernels.
//
// A work item is a group of channels, whose elements at one pixel fill kPixelBytes, times a line of masks, which
// fill a cache line of an output row; groups outermost. With one group this equals the document's split of masks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/caches.h"
#include "core/sizes.h"
#include "ops/masked_im2col_forward/masked_im2col_forward.h"
#include "team/launch.h"

namespace mluop::masked_im2col_forward::native {

// Bytes of a pixel of a group of channels.
inline constexpr int64_t kPixelBytes = 16;

inline int64_t group_channels(const Args& args) { return kPixelBytes / args.element_size; }
inline int64_t line_masks(const Args& args) { return kCacheLine / args.element_size; }
inline int64_t group_count(const Args& args) { return ceil_div(args.channels, group_channels(args)); }
inline int64_t line_count(const Args& args) { return ceil_div(args.mask_cnt, line_masks(args)); }
inline int64_t item_count(const Args& args) { return group_count(args) * line_count(args); }

// Consecutive work items of one group.
struct Chunk {
  Range channels;
  Range masks;
};

// Calls visit(chunk) for the work items in [begin, end) of each group. Tasks divide groups before masks, because a
// task with whole groups writes whole output rows and is the only reader of its planes.
template <class Visit>
void for_each_chunk(const Args& args, int64_t begin, int64_t end, const Visit& visit) {
  const int64_t lines = line_count(args);
  while (begin < end) {
    const int64_t group = begin / lines;
    const int64_t group_end = std::min(end, (group + 1) * lines);
    const int64_t channel = group * group_channels(args);
    const int64_t mask = (begin - group * lines) * line_masks(args);
    const int64_t mask_end = std::min(args.mask_cnt, (group_end - group * lines) * line_masks(args));
    visit(Chunk{{channel, std::min(channel + group_channels(args), args.channels)}, {mask, mask_end}});
    begin = group_end;
  }
}

struct GatherArgs : Args {
  int64_t located_masks;  // packed_kernel() only: masks whose pixels are located at a time, whole lines
  int64_t tile_masks;     // masks of a tile, whose output rows are in NRAM at a time; whole lines
  bool stream;            // the output bypasses the caches
};

// Packs the planes of a group into NRAM (PackedPlane), so that one load fetches all channels of a pixel inside or
// outside the feature, and transposes pixels to output rows in registers. Pays off where the masks cover a large
// part of the feature.
RangeKernel<GatherArgs> packed_kernel(int32_t element_size);

// Reads the feature element by element: for planes that do not fit NRAM and for few masks.
RangeKernel<GatherArgs> direct_kernel(int32_t element_size);

// The planes of a group of channels in NRAM, packed: the elements of all channels at a pixel are adjacent, and
// zeros surround the feature.
//
//   kernel_h rows of zeros
//   H rows: kernel_w - 1 zeros, W pixels
//   kernel_h - 1 rows of zeros, and kernel_w - 1 zeros
//
// The zeros before a row also follow the row above it. The distances between the pixels of a mask are the same for
// every mask that touches the feature. A mask that does not touch it reads zeros, as a mask at offset 0 does.
struct PackedPlane {
  explicit PackedPlane(const Args& args)
      : row_pixels(args.width + args.kernel_w - 1),
        first_pixel(args.kernel_h * row_pixels + args.kernel_w - 1),
        pixel_count((args.height + 2 * args.kernel_h - 1) * row_pixels + args.kernel_w - 1) {}

  // Whether every offset fits int32; the constructor requires it.
  static bool representable(const Args& args) {
    constexpr int64_t kMaxPixels = std::numeric_limits<int32_t>::max() / kPixelBytes;
    const auto bound = checked_product(args.height + 2 * args.kernel_h, args.width + 2 * args.kernel_w);
    return bound && *bound <= kMaxPixels;
  }

  // The offset in bytes of the upper left pixel of a mask: row h and column w of the feature.
  int32_t offset(const Args& args, int64_t h, int64_t w) const {
    const bool touches = h > -args.kernel_h && h < args.height && w > -args.kernel_w && w < args.width;
    return touches ? static_cast<int32_t>((first_pixel + h * row_pixels + w) * kPixelBytes) : 0;
  }

  int64_t row_pixels;   // from a pixel to the pixel below it
  int64_t first_pixel;  // first pixel of the feature
  int64_t pixel_count;
};

// The NRAM of packed_kernel().
struct PackedBuffers {
  PackedBuffers(Arena& nram, const PackedPlane& plane, int64_t located_masks, int64_t tile_masks)
      : pixels(nram.take<std::byte>("packed pixels", {plane.pixel_count, kPixelBytes})),
        offsets(nram.take<int32_t>("offsets", {located_masks})),
        rows(nram.take<std::byte>("rows", {tile_masks, kPixelBytes})) {}

  std::byte* pixels;  // [pixel_count, group_channels] elements of the feature
  int32_t* offsets;   // [located_masks], offset of the upper left pixel of a mask in `pixels`
  std::byte* rows;    // [group_channels, tile_masks] elements of the output
};

// The NRAM of direct_kernel().
struct DirectBuffers {
  DirectBuffers(Arena& nram, int64_t tile_masks)
      : positions(nram.take<int64_t>("positions", {tile_masks})),
        rows(nram.take<std::byte>("rows", {tile_masks, kPixelBytes})) {}

  int64_t* positions;  // [tile_masks], position of the pixel of a mask in a plane
  std::byte* rows;     // [group_channels, tile_masks] elements of the output
};

struct Plan {
  int task_dim;
  bool packed;            // packed_kernel(), else direct_kernel()
  int64_t located_masks;  // packed_kernel() only: masks whose pixels are located at a time, whole lines
  int64_t tile_masks;     // masks whose output rows are in NRAM at a time, whole lines
  bool stream;            // the output bypasses the caches
};

// The smallest tile fits 1 KiB, the smallest NRAM.
Plan make_plan(const Context& context, const Args& args);

}  // namespace mluop::masked_im2col_forward::native

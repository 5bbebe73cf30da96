// Masked col2im forward, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sizes.h"
#include "ops/masked_col2im_forward/masked_col2im_forward.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::masked_col2im_forward::native {

// Planes written at a time, so that masks are located once for all of them.
inline constexpr int64_t kGroup = 4;

// Chunks of masks, and the rows of the image that the masks of each chunk are in.
struct MaskChunks {
  static constexpr int64_t kMasks = 512;  // masks of a chunk

  MaskChunks(Arena& arena, int64_t mask_cnt)
      : masks(mask_cnt), rows(arena.take<Range>("rows of masks", {count()})) {}

  int64_t count() const { return ceil_div(masks, kMasks); }
  Range operator[](int64_t chunk) const { return {chunk * kMasks, std::min((chunk + 1) * kMasks, masks)}; }

  int64_t masks;
  Range* rows;  // [count()]
};

// Work items: chunks of masks. Determines their rows; reports masks outside the image, and masks that are out of
// order.
struct CheckArgs : Args {
  const MaskChunks& chunks;
  FirstBadItem& bad_mask;
  FirstBadItem& disorder;  // first chunk with a mask that does not precede the next in row-major order
};
RangeKernel<CheckArgs> check_kernel();

// Maps a row of col to a plane if the masks are in row-major order: each vector of pixels is a permutation of
// consecutive elements and zeros.
struct Expansion {
  static constexpr int32_t kNone = -1;

  Expansion(Arena& arena, int64_t plane, int64_t vector_pixels)
      : pixels(vector_pixels),
        vectors(ceil_div(plane, pixels)),
        first_masks(arena.take<int64_t>("first masks", {vectors})),
        offsets(arena.take<int32_t>("offsets", {vectors, pixels})) {}

  int64_t pixels;        // pixels of a vector
  int64_t vectors;       // vectors of a plane; the last may extend past it
  int64_t* first_masks;  // [vectors]: first mask of each vector; a whole vector of elements begins there
  int32_t* offsets;      // [vectors, pixels]: distance from the first mask to the mask of the pixel, or kNone
};

// The number of pixels of a vector. An Expansion requires at least as many masks.
int64_t vector_pixels();

struct ExpandArgs : Args {
  const Expansion& expansion;
};

// Work items: vectors of a plane. Determines their masks.
RangeKernel<ExpandArgs> index_kernel();

// Work items: vectors of all planes. Writes the image.
RangeKernel<ExpandArgs> expand_kernel(int32_t element_size);

// Work items: elements of the image. Writes zeros and copies the masks in ascending order, so that the last of
// equal masks remains. A task that writes part of a plane skips the chunks outside it.
struct ScatterArgs : Args {
  const MaskChunks& chunks;
};
RangeKernel<ScatterArgs> scatter_kernel(int32_t element_size);

}  // namespace mluop::masked_col2im_forward::native

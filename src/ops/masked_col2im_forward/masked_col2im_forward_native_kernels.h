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

// Chunks of masks, and the rows of the image that the masks of each are in.
struct MaskChunks {
  static constexpr int64_t kMasks = 512;  // of a chunk

  MaskChunks(Arena& arena, int64_t mask_cnt)
      : masks(mask_cnt), rows(arena.take<Range>("rows of masks", {count()})) {}

  int64_t count() const { return ceil_div(masks, kMasks); }
  Range operator[](int64_t chunk) const { return {chunk * kMasks, std::min((chunk + 1) * kMasks, masks)}; }

  int64_t masks;
  Range* rows;  // [count()]
};

// Work items: chunks of masks. Determines their rows, and reports masks outside the image and in disorder.
struct CheckArgs : Args {
  const MaskChunks& chunks;
  FirstBadItem& bad_mask;
  FirstBadItem& disorder;  // the first chunk with a mask that does not precede the next mask in row-major order
};
RangeKernel<CheckArgs> check_kernel();

// How a row of col becomes a plane if the masks are in row-major order: each vector of pixels is a permutation of
// consecutive elements, and zeros.
struct Expansion {
  static constexpr int32_t kNone = -1;

  Expansion(Arena& arena, int64_t plane, int64_t vector_pixels)
      : pixels(vector_pixels),
        vectors(ceil_div(plane, pixels)),
        first_masks(arena.take<int64_t>("first masks", {vectors})),
        offsets(arena.take<int32_t>("offsets", {vectors, pixels})) {}

  int64_t pixels;        // of a vector
  int64_t vectors;       // of a plane; the last one may extend past it
  int64_t* first_masks;  // [vectors]: a whole vector of elements begins there in the row
  int32_t* offsets;      // [vectors, pixels]: from the first mask of the vector to that of the pixel, or kNone
};

// The pixels of a vector. An Expansion requires as many masks.
int64_t vector_pixels();

struct ExpandArgs : Args {
  const Expansion& expansion;
};

// Work items: vectors of a plane. Determines their masks.
RangeKernel<ExpandArgs> index_kernel();

// Work items: vectors of all planes. Writes the image.
RangeKernel<ExpandArgs> expand_kernel(int32_t element_size);

// Work items: elements of the image. Writes zeros and copies the masks in ascending order: the last of equal masks
// remains. A task that writes a part of a plane skips the chunks outside it.
struct ScatterArgs : Args {
  const MaskChunks& chunks;
};
RangeKernel<ScatterArgs> scatter_kernel(int32_t element_size);

}  // namespace mluop::masked_col2im_forward::native

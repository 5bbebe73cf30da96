// Masked im2col forward: the range kernels.
//
// Letters as in the design document: C channels, H rows and W columns of the feature, masks, kernel_h x kernel_w
// offsets (i, j) of a mask. A plane is one channel of the feature. Elements are copied bit by bit, so that float
// and half share one implementation for 4 and 2 bytes.
//
// Work items: a group of channels, as many as fill 16 bytes with their elements at one pixel, times a line of
// masks, as many as fill a cache line of an output row; groups outermost. Items are divided as in the document,
// the remainder to the first tasks; with one group of channels that is the document's split of masks. But masks
// alone would cut each of the C x kernel_h x kernel_w rows of the output once a task, and few masks would leave
// tasks without work; a task that owns groups writes whole rows and is the only one to read its planes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sizes.h"
#include "team/launch.h"

namespace mluop::masked_im2col_forward {

inline constexpr int64_t kPixelBytes = 16;  // of a group of channels
inline constexpr int64_t kLineBytes = 64;   // of an output row

// The arguments of the call, checked.
struct Args {
  int64_t group_channels() const { return kPixelBytes / element_size; }
  int64_t line_masks() const { return kLineBytes / element_size; }
  int64_t group_count() const { return ceil_div(channels, group_channels()); }
  int64_t line_count() const { return ceil_div(mask_cnt, line_masks()); }
  int64_t item_count() const { return group_count() * line_count(); }

  int32_t element_size;             // bytes: 2 or 4
  int64_t channels, height, width;  // of the feature
  int64_t mask_cnt;
  int64_t kernel_h, kernel_w, pad_h, pad_w;  // int32, in wide arithmetic: any coordinate is valid
  const void* feature;                       // [1, C, H, W]
  const int32_t* mask_h_idx;                 // [mask_cnt]
  const int32_t* mask_w_idx;                 // [mask_cnt]
  void* data_col;                            // [C * kernel_h * kernel_w, mask_cnt]
};

// Masks [first_mask, first_mask + mask_count) of channels [first_channel, first_channel + channel_count).
struct Block {
  int64_t first_channel, channel_count;
  int64_t first_mask, mask_count;
};

// Calls visit(block) for the part of each group that lies in the items [begin, end).
template <class Visit>
void for_each_group(const Args& call, int64_t begin, int64_t end, const Visit& visit) {
  const int64_t lines = call.line_count();
  while (begin < end) {
    const int64_t group = begin / lines;
    const int64_t group_end = std::min(end, (group + 1) * lines);
    const int64_t channel = group * call.group_channels();
    const int64_t mask = (begin - group * lines) * call.line_masks();
    const int64_t mask_end = std::min(call.mask_cnt, (group_end - group * lines) * call.line_masks());
    visit(Block{channel, std::min(call.group_channels(), call.channels - channel), mask, mask_end - mask});
    begin = group_end;
  }
}

// Calls visit(tile) for each part of up to `tile_masks` masks of a block.
template <class Visit>
void for_each_tile(const Block& block, int64_t tile_masks, const Visit& visit) {
  for (int64_t done = 0; done < block.mask_count; done += tile_masks) {
    visit(Block{block.first_channel, block.channel_count, block.first_mask + done,
                std::min(tile_masks, block.mask_count - done)});
  }
}

struct GatherArgs {
  const Args& call;
  int64_t located_masks;  // masks whose places in the packed planes fit NRAM: whole tiles
  int64_t tile_masks;     // masks whose output rows fit NRAM: whole lines
  bool stream;            // the output is too large to be found in a cache again
};

// Packs the planes of a group into NRAM (see packed_plane.h), so that one load fetches an element of each channel,
// inside the feature or not; then transposes in registers, back to one row a channel. Pays where the masks cover a
// good part of the feature.
RangeKernel<GatherArgs> packed_kernel(int32_t element_size);

// Reads the elements one by one from the feature: for planes that do not fit NRAM and for few masks.
RangeKernel<GatherArgs> direct_kernel(int32_t element_size);

}  // namespace mluop::masked_im2col_forward

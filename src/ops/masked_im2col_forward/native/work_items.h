// Masked im2col forward: the work items of the native algorithm.
//
// A work item is a group of channels, whose elements at one pixel fill kPixelBytes, times a line of masks, which
// fill a cache line of an output row; groups outermost. With one group this is the document's split of masks.
#pragma once

#include <cstdint>

#include "core/caches.h"
#include "core/sizes.h"
#include "ops/masked_im2col_forward/args.h"

namespace mluop::masked_im2col_forward::native {

// Bytes of a pixel of a group of channels.
inline constexpr int64_t kPixelBytes = 16;

inline int64_t group_channels(const Args& call) { return kPixelBytes / call.element_size; }
inline int64_t line_masks(const Args& call) { return kCacheLine / call.element_size; }
inline int64_t group_count(const Args& call) { return ceil_div(call.channels, group_channels(call)); }
inline int64_t line_count(const Args& call) { return ceil_div(call.mask_cnt, line_masks(call)); }
inline int64_t item_count(const Args& call) { return group_count(call) * line_count(call); }

}  // namespace mluop::masked_im2col_forward::native

// Masked im2col forward: range kernels of the native algorithm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/masked_im2col_forward/native/work_items.h"
#include "team/launch.h"

namespace mluop::masked_im2col_forward::native {

// Consecutive work items of one group.
struct Chunk {
  Range channels;
  Range masks;
};

// The masks of a chunk whose output rows are in NRAM at a time.
struct Tile {
  Range channels;
  Range masks;
};

// Calls visit(chunk) for the work items in [begin, end) of each group. Tasks divide groups before masks because a
// task that has whole groups writes whole output rows and is the only one to read its planes.
template <class Visit>
void for_each_chunk(const Args& call, int64_t begin, int64_t end, const Visit& visit) {
  const int64_t lines = line_count(call);
  while (begin < end) {
    const int64_t group = begin / lines;
    const int64_t group_end = std::min(end, (group + 1) * lines);
    const int64_t channel = group * group_channels(call);
    const int64_t mask = (begin - group * lines) * line_masks(call);
    const int64_t mask_end = std::min(call.mask_cnt, (group_end - group * lines) * line_masks(call));
    visit(Chunk{{channel, std::min(channel + group_channels(call), call.channels)}, {mask, mask_end}});
    begin = group_end;
  }
}

// Calls visit(tile) for each tile of up to `tile_masks` masks of a chunk.
template <class Visit>
void for_each_tile(const Chunk& chunk, int64_t tile_masks, const Visit& visit) {
  for (int64_t mask = chunk.masks.begin; mask < chunk.masks.end; mask += tile_masks) {
    visit(Tile{chunk.channels, {mask, std::min(mask + tile_masks, chunk.masks.end)}});
  }
}

struct GatherArgs {
  const Args& call;
  int64_t located_masks;  // packed_kernel only: masks whose pixels are located at a time, whole lines
  int64_t tile_masks;     // masks of a tile, whole lines
  bool stream;            // the output bypasses the caches
};

// Packs the planes of a group into NRAM (packed_plane.h), so that one load fetches a pixel of all its channels,
// inside the feature or outside, and transposes pixels to output rows in registers. Pays where the masks cover a
// large part of the feature.
RangeKernel<GatherArgs> packed_kernel(int32_t element_size);

// Reads the feature element by element: for planes that do not fit NRAM and for few masks.
RangeKernel<GatherArgs> direct_kernel(int32_t element_size);

// The NRAM of direct_kernel.
struct DirectBuffers {
  DirectBuffers(Arena& nram, int64_t tile_masks)
      : positions(nram.take<int64_t>("positions", {tile_masks})),
        rows(nram.take<std::byte>("rows", {tile_masks, kPixelBytes})) {}

  int64_t* positions;  // [tile_masks], of the pixel of a mask in a plane
  std::byte* rows;     // [group_channels, tile_masks] elements of the output
};

}  // namespace mluop::masked_im2col_forward::native

// Voxel pooling backward, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/caches.h"
#include "core/sizes.h"
#include "ops/voxel_pooling_backward/voxel_pooling_backward.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_backward::native {

// Work items: points. Reports the first point whose pos_memo is neither a cell nor three times kNoCell.
struct CheckArgs : Args {
  FirstBadItem& bad_point;
};
RangeKernel<CheckArgs> check_kernel();

// How rows are written to grad_input.
enum class Store {
  kCached,  // through the caches
  kRows,    // bypassing the caches, row by row: rows are multiples of half a cache line
  kTiles,   // bypassing the caches, assembled in NRAM to whole cache lines
};

// Work items: kCacheLine bytes of grad_input. Copies the rows of cells; writes zeros for points without a cell.
struct GatherArgs : Args {
  Store store;
  int64_t tile_bytes;  // bytes of a tile of kTiles: whole cache lines
};
RangeKernel<GatherArgs> gather_kernel();

inline int64_t line_count(const Args& args) { return ceil_div(args.output_bytes(), kCacheLine); }

// The NRAM of kTiles.
struct GatherTile {
  GatherTile(Arena& nram, int64_t bytes) : rows(nram.take<std::byte>("rows", {bytes})) {}
  std::byte* rows;  // [bytes] of grad_input
};

}  // namespace mluop::voxel_pooling_backward::native

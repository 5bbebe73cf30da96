// Voxel pooling backward: range kernels of the native algorithm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/caches.h"
#include "core/sizes.h"
#include "ops/voxel_pooling_backward/args.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::voxel_pooling_backward::native {

struct CheckArgs {
  const Args& call;
  FirstBadItem& bad_point;
};

// Work items: points. Reports the first whose pos_memo is neither a cell nor three times kNoCell.
RangeKernel<CheckArgs> check_kernel();

// How the rows of grad_output reach grad_input.
enum class Store {
  kCached,  // by stores that the caches keep
  kRows,    // bypassing the caches, row by row: rows are whole cache lines
  kTiles,   // bypassing the caches, assembled in NRAM to whole cache lines
};

struct GatherArgs {
  const Args& call;
  Store store;
  int64_t tile_bytes;  // of kTiles: whole cache lines
};

// Work items: kCacheLine bytes of grad_input. Copies the rows of cells, and writes zeros for points without one.
RangeKernel<GatherArgs> gather_kernel();

inline int64_t line_count(const Args& call) { return ceil_div(call.output_bytes(), kCacheLine); }

// The NRAM of kTiles.
struct GatherTile {
  GatherTile(Arena& nram, int64_t bytes) : rows(nram.take<std::byte>("rows", {bytes})) {}
  std::byte* rows;  // [bytes] of grad_input
};

}  // namespace mluop::voxel_pooling_backward::native

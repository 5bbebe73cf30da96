#include "primitives/memory/scatter_add.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/memory/scatter_add.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "primitives/memory/prefetch.h"
#include "primitives/memory/row_tile.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/row_guard.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sums[0, count) += row[0, count)
HWY_INLINE void add_row(float* HWY_RESTRICT sums, const float* HWY_RESTRICT row, int64_t count) {
  for_each_vector(count, [&](auto d, int64_t j) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sums + j), hn::LoadU(d, row + j)), d, sums + j);
  });
}

// Adds columns [first, first + columns) of the rows of a tile.
void add_tile(const ScatterAddArgs& args, const RowTile& tile, int64_t begin, int64_t count, int64_t first,
              int64_t columns, Task& task) {
  float* const sums = args.sums + first;
  const int64_t bytes = columns * int64_t{sizeof(float)};
  const auto prefetch = [&](int64_t i) {
    if (tile.skips(i)) return;
    const float* row = sums + tile.indices[i] * args.columns;
    prefetch_row<Use::kWrite>(row, bytes);
    __builtin_prefetch(RowLocks::lock_of(row), 1);
  };
  // Prefetches while the tile is loaded.
  for (int64_t i = 0; i < std::min(count, kPrefetchedPairs); ++i) prefetch(i);
  const float* from = args.rows + begin * args.columns + first;
  if (columns == args.columns) {
    load(task, tile.rows, from, count * bytes);
  } else {
    load_rows(task, tile.rows, bytes, from, args.columns * int64_t{sizeof(float)}, bytes, count);
  }
  const auto* rows = reinterpret_cast<const float*>(tile.rows);
  for (int64_t i = 0; i < count; ++i) {
    if (i + kPrefetchedPairs < count) prefetch(i + kPrefetchedPairs);
    if (tile.skips(i)) continue;
    float* row = sums + tile.indices[i] * args.columns;
    const RowGuard guard(task, row, columns);
    add_row(row, rows + i * columns, columns);
  }
}

// Work items: rows.
void add_rows(const ScatterAddArgs& args, int64_t begin, int64_t end, Task& task) {
  RowTile tile = RowTile::fit(task.nram, args.columns * int64_t{sizeof(float)});
  const int64_t tile_columns = tile.row_bytes / int64_t{sizeof(float)};
  for (int64_t i = begin; i < end; i += tile.pairs) {
    const int64_t count = std::min(tile.pairs, end - i);
    tile.load_indices(task, args.indices + i, args.paired_indices == nullptr ? nullptr : args.paired_indices + i,
                      count);
    for (int64_t first = 0; first < args.columns; first += tile_columns) {
      ++task.statistics->tiles;
      add_tile(args, tile, i, count, first, std::min(tile_columns, args.columns - first), task);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(add_rows);

void scatter_add(Context& context, const ScatterAddArgs& args) {
  launch(context, "scatter_add", device_task_dim(), Evenly{args.count}, MLUOP_DISPATCH(add_rows), args);
}

}  // namespace mluop
#endif

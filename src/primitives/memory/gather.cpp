#include "primitives/memory/gather.h"

#include <algorithm>
#include <cstring>

#include "primitives/memory/prefetch.h"
#include "primitives/memory/row_tile.h"

namespace mluop {
namespace {

// Loads bytes [first, first + bytes) of the rows of a tile.
void load_tile(const GatherArgs& args, const RowTile& tile, int64_t count, int64_t first, int64_t bytes,
               Task& task) {
  const auto* from = static_cast<const std::byte*>(args.from) + first;
  const auto prefetch = [&](int64_t i) {
    if (!tile.skips(i)) prefetch_row<Use::kRead>(from + tile.indices[i] * args.row_bytes, bytes);
  };
  for (int64_t i = 0; i < std::min(count, kPrefetchedPairs); ++i) prefetch(i);
  for (int64_t i = 0; i < count; ++i) {
    if (i + kPrefetchedPairs < count) prefetch(i + kPrefetchedPairs);
    std::byte* row = tile.rows + i * bytes;
    if (tile.skips(i)) {
      std::memset(row, 0, static_cast<size_t>(bytes));
    } else {
      load(task, row, from + tile.indices[i] * args.row_bytes, bytes);
    }
  }
}

// Work items: indices.
void gather_rows(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  RowTile tile = RowTile::fit(task.nram, args.row_bytes);
  for (int64_t i = begin; i < end; i += tile.pairs) {
    const int64_t count = std::min(tile.pairs, end - i);
    tile.load_indices(task, args.indices + i, args.paired_indices == nullptr ? nullptr : args.paired_indices + i,
                      count);
    auto* to = static_cast<std::byte*>(args.to) + i * args.row_bytes;
    for (int64_t first = 0; first < args.row_bytes; first += tile.row_bytes) {
      const int64_t bytes = std::min(tile.row_bytes, args.row_bytes - first);
      ++task.statistics->tiles;
      load_tile(args, tile, count, first, bytes, task);
      if (bytes == args.row_bytes) {
        store(task, to, tile.rows, count * bytes);
      } else {
        store_rows(task, to + first, args.row_bytes, tile.rows, bytes, bytes, count);
      }
    }
  }
}

}  // namespace

void gather(Context& context, const GatherArgs& args) {
  launch(context, "gather", device_task_dim(), Evenly{args.count}, gather_rows, args);
}

}  // namespace mluop

#include "primitives/memory/fill.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/memory/fill.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/caches.h"
#include "core/simd.h"
#include "primitives/memory/stream-inl.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: bytes.
void write_zeros(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  const StreamWriter stream;
  const auto bytes = static_cast<size_t>(end - begin);
  if (args.stream) {
    stream.fill(args.data + begin, 0, bytes);
  } else {
    std::memset(args.data + begin, 0, bytes);
  }
}

// Work items: bytes. Stores a tile of zeros repeatedly until the range is filled.
void store_zero_tiles(const FillArgs& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kTileBytes = 16 << 10;
  const int64_t tile_bytes = std::min({kTileBytes, static_cast<int64_t>(task.nram.capacity()), end - begin});
  auto* tile = task.nram.take<uint8_t>("zeros", {tile_bytes});
  std::memset(tile, 0, static_cast<size_t>(tile_bytes));
  const StreamWriter stream;
  for (int64_t i = begin; i < end; i += tile_bytes) {
    const int64_t bytes = std::min(tile_bytes, end - i);
    ++task.statistics->tiles;
    if (args.stream) {
      task.statistics->bytes_stored += bytes;
      stream.copy(args.data + i, tile, static_cast<size_t>(bytes));
    } else {
      store(task, args.data + i, tile, bytes);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(write_zeros);
HWY_EXPORT(store_zero_tiles);

void fill_zero(Context& context, void* data, int64_t bytes) {
  // The zeros are updated soon: bypass the caches only if they cannot hold the zeros until then.
  const bool stream = bytes > 2 * cache_sizes().llc;
  const FillArgs args = {static_cast<uint8_t*>(data), stream};
  if (context.algorithm == MLUOP_OMP_ALGORITHM_DEVICE) {
    launch<FillArgs>(context, "fill", device_task_dim(), Evenly{bytes}, MLUOP_DISPATCH(store_zero_tiles), args);
  } else {
    launch<FillArgs>(context, "fill", choose_task_dim(bytes, bytes), Evenly{bytes}, MLUOP_DISPATCH(write_zeros),
                     args);
  }
}

}  // namespace mluop
#endif

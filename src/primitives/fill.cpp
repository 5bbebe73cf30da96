#include "primitives/fill.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/fill.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/caches.h"
#include "core/simd.h"
#include "primitives/stream-inl.h"
#include "team/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: bytes.
void stream_zeros(uint8_t* const& data, int64_t begin, int64_t end, Task&) {
  const StreamWriter stream;
  stream.zero(data + begin, static_cast<size_t>(end - begin));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(stream_zeros);

namespace {

// Work items: bytes.
void store_zeros(uint8_t* const& data, int64_t begin, int64_t end, Task&) {
  std::memset(data + begin, 0, static_cast<size_t>(end - begin));
}

struct ZeroTile {
  ZeroTile(Arena& nram, int64_t bytes) : zeros(nram.take<uint8_t>("zeros", {bytes})) {}
  uint8_t* zeros;  // [bytes]
};

// Work items: bytes. Stores a tile of zeros as often as the range takes.
void store_zero_tiles(uint8_t* const& data, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kTileBytes = 16 << 10;
  const int64_t bytes = std::min({kTileBytes, static_cast<int64_t>(task.nram.capacity()), end - begin});
  const ZeroTile tile(task.nram, bytes);
  std::memset(tile.zeros, 0, static_cast<size_t>(bytes));
  for (int64_t i = begin; i < end; i += bytes) {
    ++task.statistics->tiles;
    store(task, data + i, tile.zeros, std::min(bytes, end - i));
  }
}

}  // namespace

void fill_zero(Context& context, void* data, int64_t bytes) {
  if (context.algorithm == MLUOP_OMP_ALGORITHM_DEVICE) {
    launch<uint8_t*>(context, "fill", device_task_dim(), Evenly{bytes}, store_zero_tiles,
                     static_cast<uint8_t*>(data));
    return;
  }
  // The zeros are updated soon: they bypass the caches only where these cannot hold them until then.
  const bool stream = bytes > 2 * cache_sizes().llc;
  launch<uint8_t*>(context, "fill", choose_task_dim(bytes, bytes), Evenly{bytes},
                   stream ? MLUOP_DISPATCH(stream_zeros) : store_zeros, static_cast<uint8_t*>(data));
}

}  // namespace mluop
#endif

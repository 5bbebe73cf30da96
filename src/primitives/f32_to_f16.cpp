#include "primitives/f32_to_f16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/f32_to_f16.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/caches.h"
#include "core/simd.h"
#include "primitives/half-inl.h"
#include "team/transfer.h"

#ifndef MLUOP_PRIMITIVES_F32_TO_F16_TILE
#define MLUOP_PRIMITIVES_F32_TO_F16_TILE
namespace mluop {

struct RoundTile {
  RoundTile(Arena& nram, int64_t count)
      : floats(nram.take<float>("floats", {count})), halves(nram.take<Half>("halves", {count})) {}

  float* floats;  // [count]
  Half* halves;   // [count]
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: numbers.
void round_tiles(const F32ToF16Args& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kMaxCount = 4096;
  constexpr int64_t kNumberBytes = sizeof(float) + sizeof(Half);
  // Less the alignment of the buffers.
  const int64_t fitting = (static_cast<int64_t>(task.nram.capacity()) - 2 * kCacheLine) / kNumberBytes;
  const int64_t tile_count = std::clamp<int64_t>(fitting, 1, kMaxCount);
  const RoundTile tile(task.nram, tile_count);
  for (int64_t i = begin; i < end; i += tile_count) {
    const int64_t count = std::min(tile_count, end - i);
    ++task.statistics->tiles;
    load(task, tile.floats, args.from + i, count * int64_t{sizeof(float)});
    round_row(tile.floats, count, tile.halves);
    store(task, args.to + i, tile.halves, count * int64_t{sizeof(Half)});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(round_tiles);

void f32_to_f16(Context& context, const F32ToF16Args& args) {
  launch(context, "f32_to_f16", device_task_dim(), Evenly{args.count}, MLUOP_DISPATCH(round_tiles), args);
}

}  // namespace mluop
#endif

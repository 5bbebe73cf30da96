#include "primitives/memory/round_f32.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/memory/round_f32.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/caches.h"
#include "core/simd.h"
#include "primitives/simd/elements-inl.h"
#include "team/transfer.h"

#ifndef MLUOP_PRIMITIVES_ROUND_F32_TILE
#define MLUOP_PRIMITIVES_ROUND_F32_TILE
namespace mluop {

template <class T>
struct RoundTile {
  RoundTile(Arena& nram, int64_t count)
      : floats(nram.take<float>("floats", {count})), rounded(nram.take<T>("rounded", {count})) {}

  float* floats;  // [count]
  T* rounded;     // [count]
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: numbers.
template <class T>
void round_tiles(const RoundF32Args& args, int64_t begin, int64_t end, Task& task) {
  constexpr int64_t kMaxCount = 4096;
  constexpr int64_t kNumberBytes = sizeof(float) + sizeof(T);
  // Minus the alignment of the buffers.
  const int64_t fitting = (static_cast<int64_t>(task.nram.capacity()) - 2 * kCacheLine) / kNumberBytes;
  const int64_t tile_count = std::clamp<int64_t>(fitting, 1, kMaxCount);
  const RoundTile<T> tile(task.nram, tile_count);
  for (int64_t i = begin; i < end; i += tile_count) {
    const int64_t count = std::min(tile_count, end - i);
    ++task.statistics->tiles;
    load(task, tile.floats, args.from + i, count * int64_t{sizeof(float)});
    round_row(tile.floats, count, tile.rounded);
    store(task, static_cast<T*>(args.to) + i, tile.rounded, count * int64_t{sizeof(T)});
  }
}

RangeKernel<RoundF32Args> select_round(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF ? round_tiles<Half> : round_tiles<BFloat16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(select_round);

void round_f32(Context& context, mluOpDataType_t dtype, const RoundF32Args& args) {
  const char* const name = dtype == MLUOP_DTYPE_HALF ? "f32_to_f16" : "f32_to_bf16";
  launch(context, name, device_task_dim(), Evenly{args.count}, MLUOP_DISPATCH(select_round)(dtype), args);
}

}  // namespace mluop
#endif

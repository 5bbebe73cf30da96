#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/native/index_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/three_interpolate_backward/native/kernels.h"
#include "ops/three_interpolate_backward/native/strip-inl.h"
#include "ops/three_interpolate_backward/native/tile.h"
#include "primitives/find_bad_index-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::find_bad_index;

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t bad = find_bad_index(args.call.indices, begin, end, args.call.M);
  if (bad < end) args.first_bad_index.report(bad);
}

// A counting sort of a tile's pairs: starts[M + 1], pairs[count, 3].
template <class T>
HWY_INLINE void group_tile(const int32_t* indices, const T* weights, int64_t count, int64_t M, int64_t Co,
                           const GroupTile& tile, uint32_t* starts, GroupedPairs::Pair* pairs) {
  // starts[m + 1] is in turn the number of pairs of feature m, the position of the next one, and the end of them.
  std::fill_n(starts, M + 1, 0);
  uint32_t* const counts = starts + 1;
  for (int64_t i = 0; i < count * 3; ++i) ++counts[indices[i]];
  uint32_t* const positions = counts;
  std::exclusive_scan(counts, counts + M, positions, uint32_t{0});
  for (int64_t first = 0; first < count; first += GroupTile::kChunkPoints) {
    const int64_t last = std::min(first + GroupTile::kChunkPoints, count);
    to_f32(weights + first * 3, (last - first) * 3, tile.weights);
    const float* weight = tile.weights;
    for (int64_t n = first; n < last; ++n) {
      const auto row_offset = static_cast<uint32_t>(n * Co);
      for (int64_t i = n * 3; i < n * 3 + 3; ++i) pairs[positions[indices[i]]++] = {row_offset, *weight++};
    }
  }
}

template <class T>
void group(const GroupArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const Tiling& tiling = args.tiling;
  const GroupTile tile(task.nram);
  const int64_t point_tiles = tiling.point_tiles(call);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / point_tiles;
    const int64_t t = item % point_tiles;
    const int64_t count = std::min(tiling.points, call.N - t * tiling.points);
    const int64_t first = (b * call.N + t * tiling.points) * 3;
    const int64_t bad = find_bad_index(call.indices, first, first + count * 3, call.M);
    if (bad < first + count * 3) {
      args.first_bad_index.report(bad);
      return;
    }
    group_tile(call.indices + first, static_cast<const T*>(call.weights) + first, count, call.M, tiling.channels,
               tile, args.grouped.starts_of(call, tiling, b, t), args.grouped.pairs_of(call, tiling, b, t));
  }
}

MLUOP_SELECT_BY_DTYPE(group, GroupArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward::native {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);

MLUOP_EXPORT_KERNEL_OF_DTYPE(group_kernel, group, GroupArgs);

}  // namespace mluop::three_interpolate_backward::native
#endif

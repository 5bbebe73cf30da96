#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/three_interpolate_backward/index_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "ops/three_interpolate_backward/kernels.h"
#include "ops/three_interpolate_backward/tile.h"
#include "ops/three_interpolate_backward/write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Indices between two looks at what was found.
constexpr int64_t kStretch = 4096;

// Whether all of indices[0, count) are below `limit`; as unsigned numbers, so that negative ones are not.
HWY_INLINE bool all_below(const int32_t* indices, int64_t count, uint32_t limit) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* values = reinterpret_cast<const uint32_t*>(indices);
  auto most = hn::Zero(d);
  uint32_t rest = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::LoadU(d, values + i));
  for (; i < count; ++i) rest = std::max(rest, values[i]);
  return std::max(rest, hn::GetLane(hn::MaxOfLanes(d, most))) < limit;
}

// Position of the first of indices[begin, end) outside [0, M); end if there is none.
HWY_INLINE int64_t find_bad(const int32_t* indices, int64_t begin, int64_t end, int64_t M) {
  const auto limit = static_cast<uint32_t>(std::min(M, int64_t{1} << 31));
  for (int64_t first = begin; first < end; first += kStretch) {
    const int64_t last = std::min(first + kStretch, end);
    if (all_below(indices + first, last - first, limit)) continue;
    return std::find_if(indices + first, indices + last,
                        [=](int32_t index) { return static_cast<uint32_t>(index) >= limit; }) -
           indices;
  }
  return end;
}

void check(const CheckArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t bad = find_bad(args.indices, begin, end, args.M);
  if (bad < end) args.first_bad[task.taskId] = bad;
}

// A counting sort, which keeps the order of points and slots. starts[M + 1], pairs[count, 3]: of the tile.
template <class T>
HWY_INLINE void group_tile(const int32_t* indices, const T* weights, int64_t count, int64_t M, int64_t Co,
                           const GroupTile& tile, uint32_t* starts, Groups::Pair* pairs) {
  // nexts[m] counts the pairs of feature m, is then the place of its next pair, and ends as the start of the next.
  uint32_t* nexts = starts + 1;
  std::fill_n(starts, M + 1, 0);
  for (int64_t i = 0; i < count * 3; ++i) ++nexts[indices[i]];
  uint32_t place = 0;
  for (int64_t m = 0; m < M; ++m) {
    const uint32_t pairs_of_m = nexts[m];
    nexts[m] = place;
    place += pairs_of_m;
  }
  for (int64_t first = 0; first < count; first += GroupTile::kPoints) {
    const int64_t last = std::min(first + GroupTile::kPoints, count);
    widen(weights + first * 3, (last - first) * 3, tile.weights);
    const float* weight = tile.weights;
    for (int64_t n = first; n < last; ++n) {
      const auto row = static_cast<uint32_t>(n * Co);
      for (int64_t slot = n * 3; slot < n * 3 + 3; ++slot) pairs[nexts[indices[slot]]++] = {row, *weight++};
    }
  }
}

template <class T>
void group(const GroupArgs& args, int64_t begin, int64_t end, Task& task) {
  const Args& call = args.call;
  const Tiling& tiling = args.tiling;
  const GroupTile tile(task.nram);
  for (int64_t number = begin; number < end; ++number) {
    const int64_t b = number / tiling.tiles(call);
    const int64_t t = number % tiling.tiles(call);
    const int64_t count = std::min(tiling.points, call.N - t * tiling.points);
    const int64_t first = (b * call.N + t * tiling.points) * 3;
    const int64_t bad = find_bad(call.indices, first, first + count * 3, call.M);
    if (bad < first + count * 3) {
      args.first_bad[task.taskId] = bad;
      return;
    }
    group_tile(call.indices + first, static_cast<const T*>(call.weights) + first, count, call.M, tiling.channels,
               tile, args.groups.starts_of(call, tiling, b, t), args.groups.pairs_of(call, tiling, b, t));
  }
}

void group_float(const GroupArgs& args, int64_t begin, int64_t end, Task& task) {
  group<float>(args, begin, end, task);
}

void group_half(const GroupArgs& args, int64_t begin, int64_t end, Task& task) {
  group<Half>(args, begin, end, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::three_interpolate_backward {

HWY_EXPORT(check);
HWY_EXPORT(group_float);
HWY_EXPORT(group_half);

RangeKernel<CheckArgs> check_kernel() { return HWY_DYNAMIC_DISPATCH(check); }

RangeKernel<GroupArgs> group_kernel(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF ? HWY_DYNAMIC_DISPATCH(group_half) : HWY_DYNAMIC_DISPATCH(group_float);
}

}  // namespace mluop::three_interpolate_backward
#endif

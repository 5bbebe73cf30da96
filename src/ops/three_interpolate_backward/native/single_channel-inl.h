// Three interpolate backward: work items of one channel, for which vectors of channels do not pay. Per-target code
// of Highway: include it inside foreach_target.
#if defined(MLUOP_THREE_INTERPOLATE_BACKWARD_SINGLE_CHANNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_THREE_INTERPOLATE_BACKWARD_SINGLE_CHANNEL_INL_H
#undef MLUOP_THREE_INTERPOLATE_BACKWARD_SINGLE_CHANNEL_INL_H
#else
#define MLUOP_THREE_INTERPOLATE_BACKWARD_SINGLE_CHANNEL_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "ops/three_interpolate_backward/native/strip-inl.h"
#include "ops/three_interpolate_backward/native/tile.h"
#include "ops/three_interpolate_backward/native/work_item.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::three_interpolate_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds all points of an item to a row of sums; position(index) is the element of a feature in it.
template <class T, class Position>
HWY_INLINE void add_channel(const WorkItem<T>& item, int64_t N, const DirectTile<T>& tile,
                            const Position& position, float* sums) {
  constexpr int64_t kChunkPoints = DirectTile<T>::kChunkPoints;
  for (int64_t first = 0; first < N; first += kChunkPoints) {
    const int64_t count = std::min(kChunkPoints, N - first);
    const int32_t* indices = item.indices + first * 3;
    const float* weights = as_f32(item.weights + first * 3, count * 3, tile.weights);
    const float* gradients = as_f32(item.grad_output + first, count, tile.gradients);
    for (int64_t n = 0; n < count; ++n, indices += 3, weights += 3) {
      const float gradient = gradients[n];
      sums[position(indices[0])] += gradient * weights[0];
      sums[position(indices[1])] += gradient * weights[1];
      sums[position(indices[2])] += gradient * weights[2];
    }
  }
}

constexpr auto kPositionIsIndex = [](int32_t index) { return index; };

// The work items of a call of one channel in fp32 whose features are one tile: the output holds the sums.
HWY_INLINE void sum_in_output(const DirectArgs& args, int64_t begin, int64_t end, const DirectTile<float>& tile) {
  const Args& call = args.call;
  const auto row_bytes = static_cast<size_t>(call.M) * sizeof(float);
  const auto clear = [&](int64_t number) {
    std::memset(WorkItem<float>(call, args.tiling, number).grad_features, 0, row_bytes);
  };
  // A row is cleared one item in advance: additions right after it would wait for its stores.
  clear(begin);
  for (int64_t number = begin; number < end; ++number) {
    if (number + 1 < end) clear(number + 1);
    const WorkItem<float> item(call, args.tiling, number);
    add_channel(item, call.N, tile, kPositionIsIndex, item.grad_features);
  }
}

// A work item of one channel. The sums are zero before and after.
template <class T>
HWY_INLINE void sum_in_tile(const WorkItem<T>& item, const Args& call, const DirectTile<T>& tile) {
  if (item.features == call.M) {
    add_channel(item, call.N, tile, kPositionIsIndex, tile.sums);
  } else if (item.indexable()) {
    const auto first = static_cast<uint32_t>(item.first_feature), other = static_cast<uint32_t>(item.features);
    const auto position = [=](int32_t index) { return std::min(static_cast<uint32_t>(index) - first, other); };
    add_channel(item, call.N, tile, position, tile.sums);
  }
  const D d;
  const int64_t whole = item.features / kLanes * kLanes;
  for (int64_t m = 0; m < whole; m += kLanes) store_f32(hn::Load(d, tile.sums + m), d, item.grad_features + m);
  T last[kLanes];
  store_f32(hn::Load(d, tile.sums + whole), d, last);
  std::copy_n(last, item.features - whole, item.grad_features + whole);
  std::memset(tile.sums, 0, static_cast<size_t>(item.features + kStrip) * sizeof(float));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::three_interpolate_backward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/match_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "primitives/row_prefetcher.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of channels of a voxel, and the places of the runs of its points.
struct Block {
  int64_t voxel;
  int64_t channel;
  Range places;
};

// Channels [channel, channel + kVectors * lanes) of the rows of a voxel's points.
template <class D, int kVectors, bool kStream>
HWY_INLINE void match_vectors(D d, const MatchArgs& args, RowPrefetcher* ahead, const Block& block) {
  const size_t lanes = hn::Lanes(d);
  const int64_t channels = args.call.channels;
  const float* voxel = args.call.voxel_feats + block.voxel * channels + block.channel;
  const float* grad = args.call.grad_voxel_feats + block.voxel * channels + block.channel;
  hn::Vec<D> values[kVectors], grads[kVectors];
  HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
    values[v] = hn::LoadU(d, voxel + v * lanes);
    grads[v] = hn::LoadU(d, grad + v * lanes);
  }
  for (int64_t place = block.places.begin; place < block.places.end;) {
    const Run run = args.voxels.runs[place];
    int64_t offset = run.first * channels + block.channel;
    if (ahead != nullptr) ahead->advance(run.count);
    for (int32_t i = 0; i < run.count; ++i, offset += channels) {
      HWY_UNROLL(8) for (int v = 0; v < kVectors; ++v) {
        // A gradient that has been given away is 0 for all points that follow.
        const auto matches = hn::Eq(hn::LoadU(d, args.call.feats + offset + v * lanes), values[v]);
        const auto given = hn::IfThenElseZero(matches, grads[v]);
        grads[v] = hn::IfThenZeroElse(matches, grads[v]);
        if constexpr (kStream) {
          hn::Stream(given, d, args.call.grad_feats + offset + v * lanes);
        } else {
          hn::StoreU(given, d, args.call.grad_feats + offset + v * lanes);
        }
      }
    }
    place += run.count;
  }
}

constexpr int kMaxVectors = 8;
using MatchVectors = void (*)(const MatchArgs&, RowPrefetcher* ahead, const Block&);

template <int kVectors, bool kStream>
void match_full(const MatchArgs& args, RowPrefetcher* ahead, const Block& block) {
  match_vectors<hn::ScalableTag<float>, kVectors, kStream>({}, args, ahead, block);
}

template <bool kStream>
constexpr std::array<MatchVectors, kMaxVectors> kMatchFull = {
    match_full<1, kStream>, match_full<2, kStream>, match_full<3, kStream>, match_full<4, kStream>,
    match_full<5, kStream>, match_full<6, kStream>, match_full<7, kStream>, match_full<8, kStream>};

// The channels that do not fill a vector: halves, quarters, ... down to one lane.
template <int kLanes>
HWY_INLINE void match_rest(const MatchArgs& args, RowPrefetcher* ahead, Block block) {
  const hn::CappedTag<float, kLanes> d;
  while (block.channel + kLanes <= args.call.channels) {
    match_vectors<decltype(d), 1, false>(d, args, block.channel == 0 ? ahead : nullptr, block);
    block.channel += kLanes;
  }
  if constexpr (kLanes > 1) match_rest<kLanes / 2>(args, ahead, block);
}

void match(const MatchArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t channels = args.call.channels;
  const int32_t* starts = args.voxels.starts;
  const auto& match_full = args.stream ? kMatchFull<true> : kMatchFull<false>;
  RowPrefetcher ahead(args.call.feats, channels, channels, args.voxels.runs, starts[begin], starts[end]);
  for (int64_t voxel = begin; voxel < end; ++voxel) {
    Block block{voxel, 0, {starts[voxel], starts[voxel + 1]}};
    while (block.channel + lanes <= channels) {
      const int64_t vectors = std::min<int64_t>((channels - block.channel) / lanes, kMaxVectors);
      match_full[static_cast<size_t>(vectors - 1)](args, block.channel == 0 ? &ahead : nullptr, block);
      block.channel += vectors * lanes;
    }
    match_rest<hn::MaxLanes(d)>(args, &ahead, block);
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward {

HWY_EXPORT(match);

RangeKernel<MatchArgs> match_kernel() { return HWY_DYNAMIC_DISPATCH(match); }

}  // namespace mluop::dynamic_scatter_backward
#endif

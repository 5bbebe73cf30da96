#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/native/match_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cstring>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/native/kernels.h"
#include "primitives/key_partition-inl.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::StreamWriter;

// Bytes of a bit for each lane.
template <class D>
constexpr int64_t kBitBytes = (hn::MaxLanes(D()) + 7) / 8;

// Bytes of a voxel in `claimed`.
inline int64_t claimed_bytes(int64_t channels) {
  using D = hn::ScalableTag<float>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  return channels / lanes * kBitBytes<D> + (channels % lanes > 0 ? 4 : 0);
}

// One vector of a point's row: claims the channels whose features equal the values of the voxel and that no point
// has claimed before. Returns their gradients, 0 for the other channels.
template <class D>
HWY_INLINE hn::Vec<D> match_vector(D d, const float* HWY_RESTRICT features, const float* HWY_RESTRICT values,
                                   const float* HWY_RESTRICT grads, uint8_t* HWY_RESTRICT claimed) {
  // Highway reads and writes bits in groups of eight bytes.
  uint64_t bits = 0;
  std::memcpy(&bits, claimed, kBitBytes<D>);
  const auto before = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
  const auto matches = hn::Eq(hn::LoadU(d, features), hn::LoadU(d, values));
  const auto gradient = hn::IfThenElseZero(hn::AndNot(before, matches), hn::LoadU(d, grads));
  hn::StoreMaskBits(d, hn::Or(before, matches), reinterpret_cast<uint8_t*>(&bits));
  std::memcpy(claimed, &bits, kBitBytes<D>);
  return gradient;
}

// The channels that do not fill a vector, by vectors of half, a quarter, ... of the lanes down to one.
template <size_t kLanes>
HWY_INLINE void match_rest(const float* features, const float* values, const float* grads, uint8_t* claimed,
                           float* to, int64_t channels) {
  const hn::CappedTag<float, kLanes> d;
  int64_t c = 0;
  for (; c + static_cast<int64_t>(kLanes) <= channels; c += kLanes) {
    hn::StoreU(match_vector(d, features + c, values + c, grads + c, claimed++), d, to + c);
  }
  if constexpr (kLanes > 1) {
    match_rest<kLanes / 2>(features + c, values + c, grads + c, claimed, to + c, channels - c);
  }
}

// Writes the output row of each point.
template <bool kStream>
struct MatchRows {
  MatchRows(const MatchArgs& match_args, const StreamWriter& stream_writer)
      : args(match_args),
        stream(stream_writer),
        lookahead(mluop::HWY_NAMESPACE::row_lookahead(args.call.row_bytes())) {}

  HWY_INLINE void prefetch(int64_t point, int64_t voxel) const {
    const Args& call = args.call;
    prefetch_row<Use::kReadOnce>(call.feats + point * call.channels, call.row_bytes());
    prefetch_row<Use::kRead>(call.voxel_feats + voxel * call.channels, call.row_bytes());
    prefetch_row<Use::kRead>(call.grad_voxel_feats + voxel * call.channels, call.row_bytes());
  }
  HWY_INLINE void visit(int64_t point, int64_t voxel) const {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t channels = args.call.channels;
    const float* features = args.call.feats + point * channels;
    const float* values = args.call.voxel_feats + voxel * channels;
    const float* grads = args.call.grad_voxel_feats + voxel * channels;
    uint8_t* claimed = args.claimed + voxel * claimed_bytes(channels);
    float* to = args.call.grad_feats + point * channels;
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes, claimed += kBitBytes<decltype(d)>) {
      const auto gradient = match_vector(d, features + c, values + c, grads + c, claimed);
      if constexpr (kStream) {
        stream.store(gradient, d, to + c);
      } else {
        hn::StoreU(gradient, d, to + c);
      }
    }
    if (c < channels) {
      match_rest<hn::MaxLanes(d)>(features + c, values + c, grads + c, claimed, to + c, channels - c);
    }
  }

  const MatchArgs& args;
  const StreamWriter& stream;
  int64_t lookahead;
};

void clear_claimed(const MatchArgs& args, Range ranks) {
  const int64_t bytes = claimed_bytes(args.call.channels);
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range voxels = args.partition.keys(args.partition.ranked_buckets[rank]);
    std::memset(args.claimed + voxels.begin * bytes, 0, static_cast<size_t>(voxels.size() * bytes));
  }
}

void match(const MatchArgs& args, int64_t begin, int64_t end, Task& task) {
  const Range ranks{begin, end};
  VisitQueue queue(task.nram, args.tile_points);
  const StreamWriter stream;
  clear_claimed(args, ranks);
  if (args.stream) {
    mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, MatchRows<true>(args, stream), queue);
  } else {
    mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, MatchRows<false>(args, stream), queue);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

HWY_EXPORT(match);

RangeKernel<MatchArgs> match_kernel() { return MLUOP_DISPATCH(match); }

}  // namespace mluop::dynamic_scatter_backward::native
#endif

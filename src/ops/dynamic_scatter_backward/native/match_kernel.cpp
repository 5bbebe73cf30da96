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

// Bytes of the first `channels` channels of a voxel in `claimed`: of all, or of whole vectors.
inline int64_t claimed_bytes(int64_t channels) {
  using D = hn::ScalableTag<float>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  return channels / lanes * kBitBytes<D> + (channels % lanes > 0 ? 4 : 0);
}

// One vector of a point's row: claims the channels whose features equal the values of the voxel and that no point
// has claimed before. Returns their gradients, 0 for the other channels. kShared: other tasks write the cache line
// of `claimed`, which is written only where it changes.
template <bool kShared, class D>
HWY_INLINE hn::Vec<D> match_vector(D d, const float* HWY_RESTRICT features, const float* HWY_RESTRICT values,
                                   const float* HWY_RESTRICT grads, uint8_t* HWY_RESTRICT claimed) {
  // Highway reads and writes bits in groups of eight bytes.
  uint64_t bits = 0;
  std::memcpy(&bits, claimed, kBitBytes<D>);
  const auto before = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
  const auto matches = hn::Eq(hn::LoadU(d, features), hn::LoadU(d, values));
  const auto gradient = hn::IfThenElseZero(hn::AndNot(before, matches), hn::LoadU(d, grads));
  if (kShared && hn::AllFalse(d, hn::AndNot(before, matches))) return hn::Zero(d);
  hn::StoreMaskBits(d, hn::Or(before, matches), reinterpret_cast<uint8_t*>(&bits));
  std::memcpy(claimed, &bits, kBitBytes<D>);
  return gradient;
}

// The channels that do not fill a vector, by vectors of half, a quarter, ... of the lanes down to one.
template <bool kShared, size_t kLanes>
HWY_INLINE void match_rest(const float* features, const float* values, const float* grads, uint8_t* claimed,
                           float* to, int64_t channels) {
  const hn::CappedTag<float, kLanes> d;
  int64_t c = 0;
  for (; c + static_cast<int64_t>(kLanes) <= channels; c += kLanes) {
    hn::StoreU(match_vector<kShared>(d, features + c, values + c, grads + c, claimed++), d, to + c);
  }
  if constexpr (kLanes > 1) {
    match_rest<kShared, kLanes / 2>(features + c, values + c, grads + c, claimed, to + c, channels - c);
  }
}

// Writes the channels [channels.begin, channels.end) of the output row of each point. kShared: other tasks write
// the other channels.
template <bool kStream, bool kShared>
struct MatchRows {
  MatchRows(const MatchArgs& match_args, const StreamWriter& stream_writer, Range channel_range)
      : args(match_args),
        stream(stream_writer),
        channels(channel_range),
        bytes(channels.size() * int64_t{sizeof(float)}),
        lookahead(mluop::HWY_NAMESPACE::row_lookahead(bytes)) {}

  HWY_INLINE void prefetch(int64_t point, int64_t voxel) const {
    const Args& call = args.call;
    prefetch_row<Use::kReadOnce>(call.feats + point * call.channels + channels.begin, bytes);
    prefetch_row<Use::kRead>(call.voxel_feats + voxel * call.channels + channels.begin, bytes);
    prefetch_row<Use::kRead>(call.grad_voxel_feats + voxel * call.channels + channels.begin, bytes);
  }
  HWY_INLINE void visit(int64_t point, int64_t voxel) const {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t row_channels = args.call.channels;
    const float* features = args.call.feats + point * row_channels;
    const float* values = args.call.voxel_feats + voxel * row_channels;
    const float* grads = args.call.grad_voxel_feats + voxel * row_channels;
    uint8_t* claimed = args.claimed + voxel * claimed_bytes(row_channels) + claimed_bytes(channels.begin);
    float* to = args.call.grad_feats + point * row_channels;
    int64_t c = channels.begin;
    for (; c + lanes <= channels.end; c += lanes, claimed += kBitBytes<decltype(d)>) {
      const auto gradient = match_vector<kShared>(d, features + c, values + c, grads + c, claimed);
      if constexpr (kStream) {
        stream.store(gradient, d, to + c);
      } else {
        hn::StoreU(gradient, d, to + c);
      }
    }
    if (c < channels.end) {
      match_rest<kShared, hn::MaxLanes(d)>(features + c, values + c, grads + c, claimed, to + c, channels.end - c);
    }
  }

  const MatchArgs& args;
  const StreamWriter& stream;
  Range channels;
  int64_t bytes;
  int64_t lookahead;
};

void clear_claimed(const MatchArgs& args, Range ranks, Range channels) {
  const int64_t voxel_bytes = claimed_bytes(args.call.channels);
  const int64_t first = claimed_bytes(channels.begin);
  const auto bytes = static_cast<size_t>(claimed_bytes(channels.end) - first);
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    const Range voxels = args.partition.keys(args.partition.ranked_buckets[rank]);
    if (bytes == static_cast<size_t>(voxel_bytes)) {
      std::memset(args.claimed + voxels.begin * voxel_bytes, 0, static_cast<size_t>(voxels.size() * voxel_bytes));
      continue;
    }
    for (int64_t voxel = voxels.begin; voxel < voxels.end; ++voxel) {
      std::memset(args.claimed + voxel * voxel_bytes + first, 0, bytes);
    }
  }
}

template <bool kShared>
void match_channels(const MatchArgs& args, Range ranks, Range channels, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  const StreamWriter stream;
  clear_claimed(args, ranks, channels);
  if (args.stream) {
    mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, MatchRows<true, kShared>(args, stream, channels), queue);
  } else {
    mluop::HWY_NAMESPACE::visit_owned(args.points, ranks, MatchRows<false, kShared>(args, stream, channels),
                                      queue);
  }
}

void match(const MatchArgs& args, int64_t begin, int64_t end, Task& task) {
  match_channels<false>(args, {begin, end}, {0, args.call.channels}, task);
}

void match_shared(const MatchArgs& args, int64_t begin, int64_t end, Task& task) {
  const Range channels = channels_of_lines<float>(begin, end, args.call.channels);
  match_channels<true>(args, args.partition.shared_ranks(), channels, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

HWY_EXPORT(match);
HWY_EXPORT(match_shared);

RangeKernel<MatchArgs> match_kernel() { return MLUOP_DISPATCH(match); }
RangeKernel<MatchArgs> match_shared_kernel() { return MLUOP_DISPATCH(match_shared); }

}  // namespace mluop::dynamic_scatter_backward::native
#endif

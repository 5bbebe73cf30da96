#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/match_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>

#include "ops/dynamic_scatter_backward/kernels.h"
#include "primitives/key_order-inl.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bytes of the bits of a vector.
template <class D>
constexpr int64_t kBitBytes = (hn::MaxLanes(D()) + 7) / 8;

// Bytes of a voxel in `taken`.
inline int64_t taken_bytes(int64_t channels) {
  using D = hn::ScalableTag<float>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  return channels / lanes * kBitBytes<D> + (channels % lanes > 0 ? 4 : 0);
}

// One vector of a point's row: `from` its features, `values` and `grads` those of its voxel.
template <bool kStream, class D>
HWY_INLINE void match_vector(D d, const float* HWY_RESTRICT from, const float* HWY_RESTRICT values,
                             const float* HWY_RESTRICT grads, uint8_t* HWY_RESTRICT taken,
                             float* HWY_RESTRICT to) {
  // Highway reads and writes bits by the eight bytes.
  uint64_t bits = 0;
  std::memcpy(&bits, taken, kBitBytes<D>);
  const auto before = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
  const auto matches = hn::Eq(hn::LoadU(d, from), hn::LoadU(d, values));
  const auto given = hn::IfThenElseZero(hn::AndNot(before, matches), hn::LoadU(d, grads));
  hn::StoreMaskBits(d, hn::Or(before, matches), reinterpret_cast<uint8_t*>(&bits));
  std::memcpy(taken, &bits, kBitBytes<D>);
  if constexpr (kStream) {
    hn::Stream(given, d, to);
  } else {
    hn::StoreU(given, d, to);
  }
}

// The channels that do not fill a vector: halves, quarters, ... down to one lane.
template <size_t kLanes>
HWY_INLINE void match_rest(const float* from, const float* values, const float* grads, uint8_t* taken, float* to,
                           int64_t channels) {
  const hn::CappedTag<float, kLanes> d;
  int64_t c = 0;
  for (; c + static_cast<int64_t>(kLanes) <= channels; c += kLanes) {
    match_vector<false>(d, from + c, values + c, grads + c, taken++, to + c);
  }
  if constexpr (kLanes > 1) match_rest<kLanes / 2>(from + c, values + c, grads + c, taken, to + c, channels - c);
}

// Writes the row of each point.
template <bool kStream>
struct MatchRows {
  explicit MatchRows(const MatchArgs& match_args)
      : args(match_args), ahead(mluop::HWY_NAMESPACE::rows_ahead(args.call.row_bytes())) {}

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
    const float* from = args.call.feats + point * channels;
    const float* values = args.call.voxel_feats + voxel * channels;
    const float* grads = args.call.grad_voxel_feats + voxel * channels;
    uint8_t* taken = args.taken + voxel * taken_bytes(channels);
    float* to = args.call.grad_feats + point * channels;
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes, taken += kBitBytes<decltype(d)>) {
      match_vector<kStream>(d, from + c, values + c, grads + c, taken, to + c);
    }
    if (c < channels) {
      match_rest<hn::MaxLanes(d)>(from + c, values + c, grads + c, taken, to + c, channels - c);
    }
  }

  const MatchArgs& args;
  int64_t ahead;
};

void match(const MatchArgs& args, int64_t begin, int64_t end, Task& task) {
  OwnedList list(task.nram, args.tile_points);
  for (int64_t rank = begin; rank < end; ++rank) {
    const Range voxels = args.order.keys(args.order.tiles[rank]);
    const int64_t bytes = taken_bytes(args.call.channels);
    std::memset(args.taken + voxels.begin * bytes, 0, static_cast<size_t>(voxels.size() * bytes));
  }
  if (args.stream) {
    mluop::HWY_NAMESPACE::visit_owned(args.points, {begin, end}, MatchRows<true>(args), list);
  } else {
    mluop::HWY_NAMESPACE::visit_owned(args.points, {begin, end}, MatchRows<false>(args), list);
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

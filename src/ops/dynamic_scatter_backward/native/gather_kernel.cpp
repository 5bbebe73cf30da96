#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/native/gather_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/check-inl.h"
#include "ops/dynamic_scatter_backward/native/kernels.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int32_t* const map = call.point2voxel_map + begin;
  const int64_t count = end - begin;
  const int64_t valid = dynamic_scatter_backward::HWY_NAMESPACE::count_valid(map, count, call.voxel_count);
  if (valid < count) args.bad_point.report(begin + valid);
  if (call.reduce_type != MLUOP_REDUCE_DMEAN) return;
  const int32_t* const bad_count = std::find_if(
      map, map + valid, [&](int32_t voxel) { return voxel != kNoVoxel && call.voxel_points_count[voxel] < 1; });
  if (bad_count != map + valid) args.bad_point.report(begin + (bad_count - map));
}

// Writes rows of grad_feats. kStream: rows are whole cache lines.
template <bool kMean, bool kStream>
class RowWriter {
 public:
  explicit RowWriter(const Args& call) : call_(call) {}

  HWY_INLINE void write(int64_t point, int32_t voxel) const {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const float* const from = call_.grad_voxel_feats + voxel * call_.channels;
    float* const to = call_.grad_feats_row(point);
    const auto count = static_cast<float>(kMean ? call_.voxel_points_count[voxel] : 1);
    int64_t c = 0;
    for (; c + lanes <= call_.channels; c += lanes)
      stream_.write<kStream>(gradient(d, from + c, count), d, to + c);
    if (c < call_.channels) write_rest<hn::MaxLanes(d)>(from + c, count, to + c, call_.channels - c);
  }

  HWY_INLINE void zero(int64_t point) const {
    float* const to = call_.grad_feats_row(point);
    if constexpr (kStream) {
      stream_.zero(reinterpret_cast<uint8_t*>(to), static_cast<size_t>(call_.row_bytes()));
    } else {
      std::fill_n(to, call_.channels, 0.0F);
    }
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<D> gradient(D d, const float* from, float count) {
    const auto sum = hn::LoadU(d, from);
    return kMean ? hn::Div(sum, hn::Set(d, count)) : sum;
  }

  // The channels that do not fill a vector, by vectors of half, a quarter, ... of the lanes down to one.
  template <size_t kLanes>
  HWY_INLINE void write_rest(const float* from, float count, float* to, int64_t channels) const {
    const hn::CappedTag<float, kLanes> d;
    for (; channels >= static_cast<int64_t>(kLanes); channels -= kLanes) {
      hn::StoreU(gradient(d, from, count), d, to);
      from += kLanes;
      to += kLanes;
    }
    if constexpr (kLanes > 1) write_rest<kLanes / 2>(from, count, to, channels);
  }

  const Args& call_;
  const mluop::HWY_NAMESPACE::StreamWriter stream_;
};

template <bool kMean, bool kStream>
void gather_rows(const Args& call, int64_t begin, int64_t end) {
  // Rows to prefetch ahead of their use.
  constexpr int64_t kLookaheadBytes = 5 << 10;
  const int64_t lookahead = std::clamp<int64_t>(kLookaheadBytes / call.row_bytes(), 1, 64);
  const RowWriter<kMean, kStream> writer(call);
  for (int64_t point = begin; point < end; ++point) {
    const int32_t voxel = call.point2voxel_map[point];
    const int32_t next = call.point2voxel_map[std::min(point + lookahead, end - 1)];
    if (next != kNoVoxel) prefetch_row<Use::kRead>(call.grad_voxel_feats + next * call.channels, call.row_bytes());
    if (voxel == kNoVoxel) {
      writer.zero(point);
    } else {
      writer.write(point, voxel);
    }
  }
}

void gather(const GatherArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  if (call.reduce_type == MLUOP_REDUCE_DMEAN) {
    args.stream ? gather_rows<true, true>(call, begin, end) : gather_rows<true, false>(call, begin, end);
  } else {
    args.stream ? gather_rows<false, true>(call, begin, end) : gather_rows<false, false>(call, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);
MLUOP_EXPORT_KERNEL(gather_kernel, gather, GatherArgs);

}  // namespace mluop::dynamic_scatter_backward::native
#endif

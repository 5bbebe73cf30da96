#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_point_to_voxel_forward/native/reduce_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/caches.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/dynamic_point_to_voxel_forward/native/kernels.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The rows of this many bytes are prefetched ahead of their use.
constexpr int64_t kLookaheadBytes = 5 << 10;

// Reduces rows of feats, one voxel at a time. Of equal values, and of zeros of either sign, the maximum is the
// first.
template <mluOpReduceMode_t kMode, bool kStream>
class Reducer {
 public:
  explicit Reducer(const ReduceArgs& args) : call_(args.call), points_(args.points) {}

  // Writes the channels [from, to) of a voxel: those of the points at [begin, end).
  HWY_INLINE void reduce(int64_t voxel, int64_t begin, int64_t end, int64_t from, int64_t to) const {
    const Rows rows{call_.feats, points_ + begin, points_ + end, call_.channels};
    float* const out = call_.voxel_feats + voxel * call_.channels;
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t c = from;
    for (; c + 4 * lanes <= to; c += 4 * lanes) reduce_four(d, rows, c, out + c);
    for (; c + lanes <= to; c += lanes) reduce_vector(d, rows, c, out + c);
    if (c < to) reduce_rest<hn::MaxLanes(d)>(rows, c, to, out);
  }

 private:
  struct Rows {
    const float* feats;
    const uint32_t *begin, *end;  // the points
    int64_t channels;
    HWY_INLINE const float* row(const uint32_t* point) const { return feats + *point * channels; }
    int64_t count() const { return end - begin; }
  };

  template <class D>
  static HWY_INLINE hn::Vec<D> start(D d) {
    return hn::Set(d, kMode == MLUOP_REDUCE_DMAX ? -std::numeric_limits<float>::infinity() : 0.0F);
  }
  // NaN is not greater than a value.
  template <class V>
  static HWY_INLINE V add(V sum, V value) {
    if constexpr (kMode == MLUOP_REDUCE_DMAX) return hn::IfThenElse(hn::Gt(value, sum), value, sum);
    return hn::Add(sum, value);
  }
  template <class D>
  HWY_INLINE void write(D d, hn::Vec<D> sum, const Rows& rows, float* out) const {
    if constexpr (kMode == MLUOP_REDUCE_DMEAN) sum = hn::Div(sum, hn::Set(d, static_cast<float>(rows.count())));
    if constexpr (kStream) {
      stream_.store(sum, d, out);
    } else {
      hn::StoreU(sum, d, out);
    }
  }

  template <class D>
  HWY_INLINE void reduce_four(D d, const Rows& rows, int64_t channel, float* out) const {
    const size_t lanes = hn::Lanes(d);
    auto sum0 = start(d), sum1 = start(d), sum2 = start(d), sum3 = start(d);
    for (const uint32_t* point = rows.begin; point < rows.end; ++point) {
      const float* const row = rows.row(point) + channel;
      sum0 = add(sum0, hn::LoadU(d, row));
      sum1 = add(sum1, hn::LoadU(d, row + lanes));
      sum2 = add(sum2, hn::LoadU(d, row + 2 * lanes));
      sum3 = add(sum3, hn::LoadU(d, row + 3 * lanes));
    }
    write(d, sum0, rows, out);
    write(d, sum1, rows, out + lanes);
    write(d, sum2, rows, out + 2 * lanes);
    write(d, sum3, rows, out + 3 * lanes);
  }

  template <class D>
  HWY_INLINE void reduce_vector(D d, const Rows& rows, int64_t channel, float* out) const {
    auto sum = start(d);
    for (const uint32_t* point = rows.begin; point < rows.end; ++point) {
      sum = add(sum, hn::LoadU(d, rows.row(point) + channel));
    }
    write(d, sum, rows, out);
  }

  // The channels that do not fill a vector, by vectors of half, a quarter, ... of the lanes down to one.
  template <size_t kLanes>
  HWY_INLINE void reduce_rest(const Rows& rows, int64_t channel, int64_t to, float* out) const {
    if constexpr (!kStream) {
      const hn::CappedTag<float, kLanes> d;
      for (; channel + static_cast<int64_t>(kLanes) <= to; channel += kLanes) {
        reduce_vector(d, rows, channel, out + channel);
      }
      if constexpr (kLanes > 1) reduce_rest<kLanes / 2>(rows, channel, to, out);
    }
  }

  const Args& call_;
  const uint32_t* points_;
  const mluop::HWY_NAMESPACE::StreamWriter stream_;
};

// Prefetches the channels [from, to) of the rows of sorted points, each once, as the places are passed.
class RowPrefetcher {
 public:
  RowPrefetcher(const ReduceArgs& args, int64_t begin, int64_t end, int64_t from, int64_t to)
      : args_(args), next_(begin), end_(end), from_(from), bytes_((to - from) * int64_t{sizeof(float)}) {
    advance(begin);
  }

  // Prefetches the rows of the places up to the lookahead from `place` on.
  HWY_INLINE void advance(int64_t place) {
    const int64_t limit = std::min(place + std::max<int64_t>(kLookaheadBytes / bytes_, 1), end_);
    for (; next_ < limit; ++next_) {
      prefetch_row<Use::kReadOnce>(args_.call.feats_row(args_.points[next_]) + from_, bytes_);
    }
  }

 private:
  const ReduceArgs& args_;
  int64_t next_, end_, from_, bytes_;
};

template <mluOpReduceMode_t kMode, bool kStream>
void reduce_voxels(const ReduceArgs& args, int64_t begin, int64_t end) {
  const Args& call = args.call;
  const Reducer<kMode, kStream> reducer(args);
  RowPrefetcher prefetcher(args, args.starts[begin], args.starts[end], 0, call.channels);
  for (int64_t voxel = begin; voxel < end; ++voxel) {
    const int64_t first = args.starts[voxel], last = args.starts[voxel + 1];
    call.voxel_points_count[voxel] = static_cast<int32_t>(last - first);
    std::copy_n(call.coor(args.points[first]), kAxes, call.voxel_coors + voxel * kAxes);
    if (args.shared != nullptr && args.shared->shares(last - first)) {
      args.shared->add(voxel);
      continue;
    }
    prefetcher.advance(last);
    reducer.reduce(voxel, first, last, 0, call.channels);
  }
}

template <mluOpReduceMode_t kMode>
void reduce_lines(const ReduceArgs& args, int64_t begin, int64_t end) {
  constexpr int64_t kLineChannels = kCacheLine / int64_t{sizeof(float)};
  const int64_t channels = args.call.channels;
  const int64_t lines = ceil_div(channels, kLineChannels);
  const Reducer<kMode, false> reducer(args);
  for (int64_t item = begin; item < end;) {
    const int64_t line = item % lines;
    const int64_t voxel = (*args.shared)[item / lines];
    const int64_t line_end = std::min(lines, line + end - item);
    const int64_t to = std::min(line_end * kLineChannels, channels);
    reducer.reduce(voxel, args.starts[voxel], args.starts[voxel + 1], line * kLineChannels, to);
    item += line_end - line;
  }
}

template <bool kStream>
void reduce_as(const ReduceArgs& args, int64_t begin, int64_t end) {
  switch (args.call.reduce_type) {
    case MLUOP_REDUCE_DSUM: return reduce_voxels<MLUOP_REDUCE_DSUM, kStream>(args, begin, end);
    case MLUOP_REDUCE_DMEAN: return reduce_voxels<MLUOP_REDUCE_DMEAN, kStream>(args, begin, end);
    case MLUOP_REDUCE_DMAX: return reduce_voxels<MLUOP_REDUCE_DMAX, kStream>(args, begin, end);
  }
}

void reduce(const ReduceArgs& args, int64_t begin, int64_t end, Task&) {
  args.stream ? reduce_as<true>(args, begin, end) : reduce_as<false>(args, begin, end);
}

void reduce_shared(const ReduceArgs& args, int64_t begin, int64_t end, Task&) {
  switch (args.call.reduce_type) {
    case MLUOP_REDUCE_DSUM: return reduce_lines<MLUOP_REDUCE_DSUM>(args, begin, end);
    case MLUOP_REDUCE_DMEAN: return reduce_lines<MLUOP_REDUCE_DMEAN>(args, begin, end);
    case MLUOP_REDUCE_DMAX: return reduce_lines<MLUOP_REDUCE_DMAX>(args, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_point_to_voxel_forward::native {

HWY_EXPORT(reduce);
HWY_EXPORT(reduce_shared);

RangeKernel<ReduceArgs> reduce_kernel() { return MLUOP_DISPATCH(reduce); }
RangeKernel<ReduceArgs> reduce_shared_kernel() { return MLUOP_DISPATCH(reduce_shared); }

}  // namespace mluop::dynamic_point_to_voxel_forward::native
#endif

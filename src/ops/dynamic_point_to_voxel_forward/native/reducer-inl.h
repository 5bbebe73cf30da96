// Reduces the rows of the points of a voxel. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_OPS_DYNAMIC_POINT_TO_VOXEL_FORWARD_NATIVE_REDUCER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_DYNAMIC_POINT_TO_VOXEL_FORWARD_NATIVE_REDUCER_INL_H
#undef MLUOP_OPS_DYNAMIC_POINT_TO_VOXEL_FORWARD_NATIVE_REDUCER_INL_H
#else
#define MLUOP_OPS_DYNAMIC_POINT_TO_VOXEL_FORWARD_NATIVE_REDUCER_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "ops/dynamic_point_to_voxel_forward/args.h"
#include "primitives/stream-inl.h"
#include "team/split.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Reduces rows of feats, one voxel at a time. The maximum is the first of equal values, and of zeros of
// either sign.
template <mluOpReduceMode_t kMode, bool kStream>
class Reducer {
 public:
  // `points` are sorted by voxel.
  Reducer(const Args& call, const uint32_t* points) : call_(call), points_(points) {}

  // Reduces these channels of the rows of the points at `places` to those of the row `out`.
  HWY_INLINE void reduce(Range places, Range channels, float* out) const {
    const Rows rows{call_.feats, points_ + places.begin, points_ + places.end, call_.channels};
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t c = channels.begin;
    for (; c + 4 * lanes <= channels.end; c += 4 * lanes) reduce_four(d, rows, c, out + c);
    for (; c + lanes <= channels.end; c += lanes) reduce_vector(d, rows, c, out + c);
    if (c < channels.end) reduce_rest<hn::MaxLanes(d)>(rows, c, channels.end, out);
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
    stream_.write<kStream>(sum, d, out);
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

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

#endif  // include guard

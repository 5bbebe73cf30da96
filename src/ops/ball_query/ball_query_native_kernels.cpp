#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ball_query/ball_query_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/ball_query/ball_query_native_kernels.h"
#include "primitives/distance-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::ball_query::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using Mask = hn::Mask<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Vectors of points that are compared before a branch.
constexpr int64_t kUnroll = 4;
static_assert(PointPlanes::kGroupPoints % (kUnroll * kLanes) == 0);

// The members of a ball whose squared radii are [low, high).
// T: float or Half. kFromZero: low is 0, and high is not.
template <class T, bool kFromZero>
class Ball {
 public:
  HWY_INLINE Ball(const Args& args, int64_t center)
      : low_(hn::Set(D(), args.min_squared_radius)),
        high_(hn::Set(D(), args.max_squared_radius)),
        candidate_high_(hn::Set(D(), args.max_squared_radius * (1 + kRelativeError) + kAbsoluteError)) {
    const T* at = static_cast<const T*>(args.new_xyz) + center * 3;
    x_ = hn::Set(D(), to_f32(at[0]));
    y_ = hn::Set(D(), to_f32(at[1]));
    z_ = hn::Set(D(), to_f32(at[2]));
  }

  // Which of the points from these coordinates on may be members; for float, which are.
  HWY_INLINE Mask candidates(const float* x, const float* y, const float* z) const {
    const V d2 = squared_distance<float>(x, y, z);
    return std::is_same_v<T, float> ? in_shell(d2) : hn::Lt(d2, candidate_high_);
  }

  // Which of the points are members, if some are candidates.
  HWY_INLINE Mask members(Mask candidates, const float* x, const float* y, const float* z) const {
    return std::is_same_v<T, float> ? candidates : in_shell(squared_distance<T>(x, y, z));
  }

 private:
  // Bounds, with a margin, of the error of a squared distance with the roundings of half: three relative errors of
  // each square and two of the sum, or 2^-25 for each below the normal numbers.
  static constexpr float kRelativeError = 0x1p-7F;
  static constexpr float kAbsoluteError = 0x1p-20F;

  template <class Element>
  HWY_INLINE V squared_distance(const float* x, const float* y, const float* z) const {
    const D d;
    return mluop::HWY_NAMESPACE::squared_length<Element>(d, hn::Sub(x_, hn::Load(d, x)),
                                                         hn::Sub(y_, hn::Load(d, y)), hn::Sub(z_, hn::Load(d, z)));
  }

  HWY_INLINE Mask in_shell(V d2) const {
    if constexpr (kFromZero) return hn::Lt(d2, high_);
    return hn::Or(hn::Eq(d2, hn::Zero(D())), hn::And(hn::Ge(d2, low_), hn::Lt(d2, high_)));
  }

  V x_, y_, z_, low_, high_, candidate_high_;
};

// A row of idx.
class Row {
 public:
  HWY_INLINE Row(int32_t* to, int64_t nsample) : to_(to), nsample_(nsample) {}

  HWY_INLINE bool is_full() const { return count_ == nsample_; }

  // Appends the points of a mask that is not empty, as far as there is room; `n` is the point of its first lane.
  HWY_INLINE void append(Mask mask, int64_t n) {
    const Di di;
    if (count_ + kLanes <= nsample_) {
      // Elements past the members are written later.
      count_ += static_cast<int64_t>(
          hn::CompressStore(hn::Iota(di, static_cast<int32_t>(n)), hn::RebindMask(di, mask), di, to_ + count_));
      return;
    }
    alignas(64) int32_t members[kLanes];
    const auto found = static_cast<int64_t>(
        hn::CompressStore(hn::Iota(di, static_cast<int32_t>(n)), hn::RebindMask(di, mask), di, members));
    const int64_t room = std::min(found, nsample_ - count_);
    std::copy_n(members, room, to_ + count_);
    count_ += room;
  }

  // Repeats the first member.
  HWY_INLINE void pad() const {
    if (count_ > 0) std::fill(to_ + count_, to_ + nsample_, to_[0]);
  }

 private:
  int32_t* to_;
  int64_t nsample_;
  int64_t count_ = 0;
};

template <class T, bool kFromZero>
void query(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const D d;
  const PointPlanes& planes = args.planes;
  for (int64_t center = begin; center < end; ++center) {
    const int64_t b = center / args.M;
    const float *x = planes.plane(b, 0), *y = planes.plane(b, 1), *z = planes.plane(b, 2);
    const Ball<T, kFromZero> ball(args, center);
    Row row(args.idx + center * args.nsample, args.nsample);
    for (int64_t n = 0; n < planes.size(); n += kUnroll * kLanes) {
      Mask masks[kUnroll];
      for (int64_t i = 0; i < kUnroll; ++i) {
        const int64_t at = n + i * kLanes;
        masks[i] = ball.candidates(x + at, y + at, z + at);
      }
      if (hn::AllFalse(d, hn::Or(hn::Or(masks[0], masks[1]), hn::Or(masks[2], masks[3])))) continue;
      for (int64_t i = 0; i < kUnroll; ++i) {
        if (hn::AllFalse(d, masks[i])) continue;
        const int64_t at = n + i * kLanes;
        const Mask members = ball.members(masks[i], x + at, y + at, z + at);
        if (!hn::AllFalse(d, members)) row.append(members, at);
      }
      if (row.is_full()) break;
    }
    row.pad();
  }
}

RangeKernel<KernelArgs> select_query(mluOpDataType_t dtype, bool from_zero) {
  return dispatch_dtype(dtype, [from_zero](auto element) -> RangeKernel<KernelArgs> {
    return from_zero ? query<decltype(element), true> : query<decltype(element), false>;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::ball_query::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::ball_query::native {

HWY_EXPORT(select_query);

RangeKernel<KernelArgs> query_kernel(const Args& args) {
  return MLUOP_DISPATCH(select_query)(args.dtype, args.min_squared_radius == 0 && args.max_squared_radius > 0);
}

}  // namespace mluop::ball_query::native
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ball_query/ball_query_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/ball_query/ball_query_native_kernels.h"
#include "ops/ball_query/member_set.h"
#include "primitives/geometry/distance-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::ball_query::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kRoundsSteps;

using D = hn::CappedTag<float, 16>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using Mask = hn::Mask<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Vectors of points compared per branch.
constexpr int64_t kUnroll = 4;
static_assert(PointPlanes::kGroupPoints % (kUnroll * kLanes) == 0);
static_assert(kLanes <= MemberSet::kMaxLanes && kLanes <= PointGrid::kPadding);

// The members of a ball or shell, see Args. T: the element type.
template <class T, bool kIsBall>
class Ball {
 public:
  HWY_INLINE Ball(const KernelArgs& args, int64_t center)
      : low_(hn::Set(D(), args.min_squared_radius)),
        high_(hn::Set(D(), args.max_squared_radius)),
        candidate_high_(hn::Set(D(), args.candidate_squared_radius)) {
    const T* at = static_cast<const T*>(args.new_xyz) + center * 3;
    for (int dim = 0; dim < 3; ++dim) center_[dim] = to_f32(at[dim]);
    x_ = hn::Set(D(), center_[0]);
    y_ = hn::Set(D(), center_[1]);
    z_ = hn::Set(D(), center_[2]);
  }

  HWY_INLINE const float (&center() const)[3] { return center_; }

  // Candidate lanes; exact unless T rounds each step.
  HWY_INLINE Mask candidates(V x, V y, V z) const {
    const V d2 = squared_distance<float>(x, y, z);
    return kRoundsSteps<T> ? hn::Lt(d2, candidate_high_) : in_shell(d2);
  }

  // The members among the candidate lanes; at least one lane is set.
  HWY_INLINE Mask members(Mask candidates, V x, V y, V z) const {
    return kRoundsSteps<T> ? in_shell(squared_distance<T>(x, y, z)) : candidates;
  }

 private:
  template <class Element>
  HWY_INLINE V squared_distance(V x, V y, V z) const {
    return mluop::HWY_NAMESPACE::squared_length<Element>(D(), hn::Sub(x_, x), hn::Sub(y_, y), hn::Sub(z_, z));
  }

  HWY_INLINE Mask in_shell(V d2) const {
    if constexpr (kIsBall) return hn::Lt(d2, high_);
    return hn::Or(hn::Eq(d2, hn::Zero(D())), hn::And(hn::Ge(d2, low_), hn::Lt(d2, high_)));
  }

  float center_[3];
  V x_, y_, z_, low_, high_, candidate_high_;
};

// A row of idx.
class Row {
 public:
  HWY_INLINE Row(int32_t* to, int64_t nsample) : to_(to), nsample_(nsample) {}

  HWY_INLINE bool is_full() const { return count_ == nsample_; }
  HWY_INLINE int64_t count() const { return count_; }

  // Takes the members of the set in ascending order while there is room. The row must be empty.
  HWY_INLINE void take(MemberSet& members) {
    count_ = members.is_few() ? take_few(members) : members.take_ascending(to_, nsample_);
  }

  // Appends the points of a nonzero mask while there is room; `n` is the point of its first lane.
  HWY_INLINE void append(Mask mask, int64_t n) {
    const Di di;
    // Not CompressStore, which is slow on AMD.
    const auto members = hn::Compress(hn::Iota(di, static_cast<int32_t>(n)), hn::RebindMask(di, mask));
    const auto found = static_cast<int64_t>(hn::CountTrue(D(), mask));
    if (count_ + kLanes <= nsample_) {
      // Elements past the members are overwritten later.
      hn::StoreU(members, di, to_ + count_);
      count_ += found;
      return;
    }
    alignas(64) int32_t all[kLanes];
    hn::Store(members, di, all);
    const int64_t room = std::min(found, nsample_ - count_);
    std::copy_n(all, room, to_ + count_);
    count_ += room;
  }

  // Fills the rest of the row with the first member.
  HWY_INLINE void pad(bool marks_empty) const {
    if (count_ > 0) {
      std::fill(to_ + count_, to_ + nsample_, to_[0]);
    } else if (marks_empty) {
      to_[0] = -1;
      std::fill(to_ + 1, to_ + nsample_, 0);
    }
  }

 private:
  // The rank of a member is the number of lesser members.
  HWY_INLINE int64_t take_few(MemberSet& members) const {
    const Di di;
    const int64_t count = members.count(), padded = round_up(count, kLanes);
    int32_t* const listed = members.listed();
    std::fill(listed + count, listed + padded, std::numeric_limits<int32_t>::max());
    int32_t sorted[MemberSet::kMaxFew];
    for (int64_t i = 0; i < count; ++i) {
      const auto member = hn::Set(di, listed[i]);
      size_t place = 0;
      for (int64_t j = 0; j < padded; j += kLanes) {
        place += hn::CountTrue(di, hn::Lt(hn::Load(di, listed + j), member));
      }
      sorted[place] = listed[i];
    }
    members.forget();
    const int64_t taken = std::min(count, nsample_);
    std::copy_n(sorted, taken, to_);
    return taken;
  }

  int32_t* to_;
  int64_t nsample_;
  int64_t count_ = 0;
};

// Compares all points, in ascending order, until the ball is full. Returns the number of points compared.
template <class T, bool kIsBall>
HWY_INLINE int64_t compare_all(const PointPlanes& planes, int64_t b, const Ball<T, kIsBall>& ball, Row& row) {
  const D d;
  const float *x = planes.plane(b, 0), *y = planes.plane(b, 1), *z = planes.plane(b, 2);
  int64_t n = 0;
  while (n < planes.size() && !row.is_full()) {
    const int64_t first = n;
    n += kUnroll * kLanes;
    Mask masks[kUnroll];
    for (int64_t i = 0; i < kUnroll; ++i) {
      const int64_t at = first + i * kLanes;
      masks[i] = ball.candidates(hn::Load(d, x + at), hn::Load(d, y + at), hn::Load(d, z + at));
    }
    if (hn::AllFalse(d, hn::Or(hn::Or(masks[0], masks[1]), hn::Or(masks[2], masks[3])))) continue;
    for (int64_t i = 0; i < kUnroll; ++i) {
      if (hn::AllFalse(d, masks[i])) continue;
      const int64_t at = first + i * kLanes;
      const Mask members = ball.members(masks[i], hn::Load(d, x + at), hn::Load(d, y + at), hn::Load(d, z + at));
      if (!hn::AllFalse(d, members)) row.append(members, at);
    }
  }
  return n;
}

// Compares the points of the cells around the center. Returns false, without comparing, if comparing all points is
// likely to cost less.
template <class T, bool kIsBall>
HWY_INLINE bool compare_near(const KernelArgs& args, int64_t b, const Ball<T, kIsBall>& ball, MemberSet& members,
                             Row& row) {
  const D d;
  const Di di;
  const PointGrid& grid = *args.grid;
  Range runs[PointGrid::kMaxRuns];
  const int64_t run_count = grid.find_runs(b, ball.center(), args.grid_radius, PointGrid::kMaxRuns, runs);
  if (run_count > PointGrid::kMaxRuns) return false;
  int64_t candidates = 0;
  for (int64_t i = 0; i < run_count; ++i) candidates += runs[i].size();
  if (candidates > args.max_candidates) return false;
  const float *x = grid.plane(b, 0), *y = grid.plane(b, 1), *z = grid.plane(b, 2);
  const int32_t* const indices = grid.sorted_indices(b);
  for (int64_t i = 0; i < run_count; ++i) {
    for (int64_t at = runs[i].begin; at < runs[i].end; at += kLanes) {
      const V xs = hn::LoadU(d, x + at), ys = hn::LoadU(d, y + at), zs = hn::LoadU(d, z + at);
      const Mask in_run = hn::FirstN(d, static_cast<size_t>(runs[i].end - at));
      const Mask near = hn::And(in_run, ball.candidates(xs, ys, zs));
      if (kRoundsSteps<T> && hn::AllFalse(d, near)) continue;
      const auto found = hn::RebindMask(di, hn::And(near, ball.members(near, xs, ys, zs)));
      hn::StoreU(hn::Compress(hn::LoadU(di, indices + at), found), di, members.next());
      members.advance(static_cast<int64_t>(hn::CountTrue(di, found)));
    }
  }
  row.take(members);
  return true;
}

// Work items: centers.
template <class T, bool kIsBall>
void query(const KernelArgs& args, int64_t begin, int64_t end, Task& task) {
  std::optional<MemberSet> members;
  if (args.grid != nullptr) members.emplace(task.nram, args.N).clear();
  for (int64_t center = begin; center < end; ++center) {
    if (args.probes.contain(center % args.M)) continue;
    const int64_t b = center / args.M;
    const Ball<T, kIsBall> ball(args, center);
    Row row(args.idx + center * args.nsample, args.nsample);
    if (!members || !compare_near(args, b, ball, *members, row)) compare_all(args.planes, b, ball, row);
    row.pad(args.marks_empty);
  }
}

// Work items: probes of all batches.
template <class T, bool kIsBall>
void probe(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / args.probes.count;
    const int64_t center = b * args.M + args.probes.center(item % args.probes.count);
    const Ball<T, kIsBall> ball(args, center);
    Row row(args.idx + center * args.nsample, args.nsample);
    const int64_t compared = compare_all(args.planes, b, ball, row);
    args.probe_results[item] = {compared, row.count()};
    row.pad(args.marks_empty);
  }
}

int64_t lanes() { return kLanes; }

RangeKernel<KernelArgs> select_probe(mluOpDataType_t dtype, bool is_ball) {
  return dispatch_dtype(dtype, [is_ball](auto element) -> RangeKernel<KernelArgs> {
    return is_ball ? probe<decltype(element), true> : probe<decltype(element), false>;
  });
}

RangeKernel<KernelArgs> select_query(mluOpDataType_t dtype, bool is_ball) {
  return dispatch_dtype(dtype, [is_ball](auto element) -> RangeKernel<KernelArgs> {
    return is_ball ? query<decltype(element), true> : query<decltype(element), false>;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::ball_query::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::ball_query::native {

HWY_EXPORT(lanes);
HWY_EXPORT(select_probe);
HWY_EXPORT(select_query);

int64_t vector_points() { return MLUOP_DISPATCH(lanes)(); }

RangeKernel<KernelArgs> probe_kernel(const Args& args) {
  return MLUOP_DISPATCH(select_probe)(args.dtype, args.is_ball);
}

RangeKernel<KernelArgs> query_kernel(const Args& args) {
  return MLUOP_DISPATCH(select_query)(args.dtype, args.is_ball);
}

}  // namespace mluop::ball_query::native
#endif

#include "ops/points_in_boxes/points_in_boxes_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/points_in_boxes/points_in_boxes_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/simd.h"
#include "primitives/box_bounds-inl.h"
#include "primitives/mask_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::points_in_boxes::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using Mask = hn::Mask<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
static_assert(kGroupPoints % kLanes == 0);

// The points of a group. Padding is NaN, which no box contains.
struct PointGroup {
  HWY_INLINE PointGroup(const float* points, int64_t count) {
    const D d;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      V vx, vy, vz;
      hn::LoadInterleaved3(d, points + i * 3, vx, vy, vz);
      hn::Store(vx, d, x + i);
      hn::Store(vy, d, y + i);
      hn::Store(vz, d, z + i);
    }
    for (; i < kGroupPoints; ++i) {
      float* const to[3] = {x + i, y + i, z + i};
      for (int64_t dim = 0; dim < 3; ++dim) {
        *to[dim] = i < count ? points[i * 3 + dim] : std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

  // Those of the points that a box may contain: the others have NaN or infinity.
  HWY_INLINE Bounds bounds() const { return {least(x), least(y), greatest(x), greatest(y)}; }

  alignas(64) float x[kGroupPoints];
  alignas(64) float y[kGroupPoints];
  alignas(64) float z[kGroupPoints];

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  // By comparisons, which are false for NaN.
  static HWY_INLINE float least(const float* values) {
    const D d;
    V result = hn::Set(d, kInfinity);
    for (int64_t i = 0; i < kGroupPoints; i += kLanes) {
      const V value = hn::Load(d, values + i);
      result = hn::IfThenElse(hn::Lt(value, result), value, result);
    }
    return hn::GetLane(hn::MinOfLanes(d, result));
  }
  static HWY_INLINE float greatest(const float* values) {
    const D d;
    V result = hn::Set(d, -kInfinity);
    for (int64_t i = 0; i < kGroupPoints; i += kLanes) {
      const V value = hn::Load(d, values + i);
      result = hn::IfThenElse(hn::Gt(value, result), value, result);
    }
    return hn::GetLane(hn::MaxOfLanes(d, result));
  }
};

// Products are rounded before they are added: the bits of the serial loop.
class BoxTest {
 public:
  HWY_INLINE explicit BoxTest(const Box& box)
      : x_(hn::Set(D(), box.x)),
        y_(hn::Set(D(), box.y)),
        z_(hn::Set(D(), box.z)),
        cosine_(hn::Set(D(), box.cosine)),
        sine_(hn::Set(D(), box.sine)),
        reach_u_(hn::Set(D(), box.reach_u)),
        reach_v_(hn::Set(D(), box.reach_v)),
        reach_z_(hn::Set(D(), box.reach_z)) {}

  // Which of the points from `first` on the box contains.
  HWY_INLINE Mask contains(const PointGroup& points, int64_t first) const {
    const D d;
    const V dx = hn::Sub(hn::Load(d, points.x + first), x_);
    const V dy = hn::Sub(hn::Load(d, points.y + first), y_);
    const V dz = hn::Sub(hn::Load(d, points.z + first), z_);
    const V u = hn::Add(hn::Mul(dx, cosine_), hn::Mul(dy, sine_));
    const V v = hn::Sub(hn::Mul(dy, cosine_), hn::Mul(dx, sine_));
    const Mask in_plane = hn::And(hn::Lt(hn::Abs(u), reach_u_), hn::Lt(hn::Abs(v), reach_v_));
    // A height of NaN is inside.
    return hn::AndNot(hn::Gt(hn::Abs(dz), reach_z_), in_plane);
  }

 private:
  V x_, y_, z_, cosine_, sine_, reach_u_, reach_v_, reach_z_;
};

// Calls visit(t, box) for each box t of the batch that may contain points of a group, ascending.
template <class Visit>
HWY_INLINE void for_each_near_box(const KernelArgs& args, int64_t b, const PointGroup& points,
                                  const Visit& visit) {
  const PreparedBoxes& prepared = args.prepared;
  const int64_t begin = b * prepared.per_batch;
  const Bounds bounds = points.bounds();
  for (int64_t first = 0; first < prepared.per_batch; first += BoxBounds::kGroupBoxes) {
    uint64_t near = mluop::HWY_NAMESPACE::boxes_that_meet(bounds, prepared.bounds, begin + first);
    for (; near != 0; near &= near - 1) {
      const int64_t t = first + std::countr_zero(near);
      visit(t, BoxTest(prepared.boxes[begin + t]));
    }
  }
}

void find_first(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Di di;
  const int64_t groups = ceil_div(args.M, kGroupPoints);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / groups, first = item % groups * kGroupPoints;
    const int64_t count = std::min(kGroupPoints, args.M - first);
    const PointGroup points(args.points + (b * args.M + first) * 3, count);
    alignas(64) int32_t boxes[kGroupPoints];
    std::fill_n(boxes, kGroupPoints, -1);
    for_each_near_box(args, b, points, [&](int64_t t, const BoxTest& box) {
      for (int64_t i = 0; i < kGroupPoints; i += kLanes) {
        const auto before = hn::Load(di, boxes + i);
        const auto is_first = hn::And(hn::RebindMask(di, box.contains(points, i)), hn::Lt(before, hn::Zero(di)));
        hn::Store(hn::IfThenElse(is_first, hn::Set(di, static_cast<int32_t>(t)), before), di, boxes + i);
      }
    });
    std::copy_n(boxes, count, args.results + b * args.M + first);
  }
}

void mark(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t groups = ceil_div(args.M, kGroupPoints);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / groups, first = item % groups * kGroupPoints;
    const PointGroup points(args.points + (b * args.M + first) * 3, std::min(kGroupPoints, args.M - first));
    int32_t* const rows = args.results + (b * args.M + first) * args.T;
    for_each_near_box(args, b, points, [&](int64_t t, const BoxTest& box) {
      for (int64_t i = 0; i < kGroupPoints; i += kLanes) {
        uint64_t inside = mluop::HWY_NAMESPACE::bits_of(D(), box.contains(points, i));
        for (; inside != 0; inside &= inside - 1) {
          rows[(i + std::countr_zero(inside)) * args.T + t] = 1;
        }
      }
    });
  }
}

RangeKernel<KernelArgs> select_test(Result result) { return result == Result::kFirstBox ? find_first : mark; }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::points_in_boxes::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::points_in_boxes::native {
namespace {

// Reaches are rounded so that comparisons of floats with them are those with the exact halves of the sides.
Box make_box(const float* from, BoxRule rule) {
  const bool is_centered = rule == BoxRule::kCentered;
  const double margin = is_centered ? double{1e-5F} : 0;
  const double half_dz = double{from[5]} / 2, yaw{from[6]};
  return {.x = from[0],
          .y = from[1],
          .z = is_centered ? from[2] : static_cast<float>(double{from[2]} + half_dz),
          .cosine = static_cast<float>(std::cos(yaw)),
          .sine = static_cast<float>(std::sin(yaw)),
          .reach_u = rounded_up(double{from[3]} / 2 + margin),
          .reach_v = rounded_up(double{from[4]} / 2 + margin),
          .reach_z = rounded_down(half_dz)};
}

// Contain each point that the box contains in spite of the roundings of the test, whose relative errors add up to
// less than 2^-21.
Bounds bounds_of(const Box& box) {
  const double reach = std::hypot(double{box.reach_u}, double{box.reach_v}) * (1 + 0x1p-20) + 0x1p-120;
  return bounds_around(double{box.x} - reach, double{box.y} - reach, double{box.x} + reach, double{box.y} + reach);
}

void prepare(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const PreparedBoxes& prepared = args.prepared;
  for (int64_t i = begin * BoxBounds::kGroupBoxes; i < end * BoxBounds::kGroupBoxes; ++i) {
    const int64_t b = i / prepared.per_batch, t = i % prepared.per_batch;
    if (t < args.T) {
      prepared.boxes[i] = make_box(args.boxes + (b * args.T + t) * 7, args.rule);
      prepared.bounds.set(i, bounds_of(prepared.boxes[i]));
    } else {
      prepared.bounds.set(i, {kNan, kNan, kNan, kNan});
    }
  }
}

}  // namespace

RangeKernel<KernelArgs> prepare_kernel() { return prepare; }

HWY_EXPORT(select_test);

RangeKernel<KernelArgs> test_kernel(Result result) { return MLUOP_DISPATCH(select_test)(result); }

}  // namespace mluop::points_in_boxes::native
#endif

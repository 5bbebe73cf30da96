#include "ops/points_in_boxes/points_in_boxes_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/points_in_boxes/points_in_boxes_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/simd.h"
#include "primitives/geometry/box_bounds-inl.h"
#include "primitives/geometry/point_boxes-inl.h"
#include "primitives/simd/mask_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::points_in_boxes::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using mluop::HWY_NAMESPACE::BoxTest;

using D = BoxTest::D;
using Di = hn::RebindToSigned<D>;
constexpr int64_t kLanes = BoxTest::kLanes;
static_assert(kGroupPoints % kLanes == 0);

// The points of a group. Padding is NaN, which no box contains.
struct PointGroup {
  HWY_INLINE PointGroup(const float* points, int64_t count) {
    const D d;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::Vec<D> vx, vy, vz;
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

  alignas(64) float x[kGroupPoints];
  alignas(64) float y[kGroupPoints];
  alignas(64) float z[kGroupPoints];
};

// Calls visit(t, box) for each box t of the batch that may contain points of a group, ascending.
template <class Visit>
HWY_INLINE void for_each_near_box(const KernelArgs& args, int64_t b, const PointGroup& points,
                                  const Visit& visit) {
  const PointBoxes& prepared = args.prepared;
  const int64_t begin = b * prepared.per_batch;
  const Bounds bounds = mluop::HWY_NAMESPACE::bounds_of_points(points.x, points.y, kGroupPoints);
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
        const auto is_first = hn::And(hn::RebindMask(di, box.contains(points.x + i, points.y + i, points.z + i)),
                                      hn::Lt(before, hn::Zero(di)));
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
        uint64_t inside =
            mluop::HWY_NAMESPACE::bits_of(D(), box.contains(points.x + i, points.y + i, points.z + i));
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

HWY_EXPORT(select_test);

RangeKernel<KernelArgs> test_kernel(Result result) { return MLUOP_DISPATCH(select_test)(result); }

}  // namespace mluop::points_in_boxes::native
#endif

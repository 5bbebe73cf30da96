// The points that a box contains. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_BOUNDED_POINTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_BOUNDED_POINTS_INL_H
#undef MLUOP_PRIMITIVES_BOUNDED_POINTS_INL_H
#else
#define MLUOP_PRIMITIVES_BOUNDED_POINTS_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>

#include "primitives/geometry/bounded_points.h"
#include "primitives/geometry/box_bounds-inl.h"
#include "primitives/geometry/point_boxes-inl.h"
#include "primitives/simd/mask_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Calls visit(n) for each point n of batch b that box t of the batch contains, ascending, until visit() returns
// false.
template <class Visit>
HWY_INLINE void visit_points_in_box(const PointBoxes& boxes, int64_t b, int64_t t, const BoundedPoints& points,
                                    const Visit& visit) {
  const int64_t box = b * boxes.per_batch + t;
  const BoxTest test(boxes.boxes[box]);
  const Bounds bounds = boxes.bounds[box];
  const float* const x = points.planes.plane(b, 0);
  const float* const y = points.planes.plane(b, 1);
  const float* const z = points.planes.plane(b, 2);
  for (int64_t first = 0; first < points.per_batch; first += BoxBounds::kGroupBoxes) {
    uint64_t near = boxes_that_meet(bounds, points.bounds, b * points.per_batch + first);
    for (; near != 0; near &= near - 1) {
      const int64_t begin = (first + std::countr_zero(near)) * PointPlanes::kGroupPoints;
      for (int64_t i = begin; i < begin + PointPlanes::kGroupPoints; i += BoxTest::kLanes) {
        uint64_t inside = bits_of(BoxTest::D(), test.contains(x + i, y + i, z + i));
        for (; inside != 0; inside &= inside - 1) {
          if (!visit(i + std::countr_zero(inside))) return;
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

#include "primitives/geometry/bounded_points.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/geometry/bounded_points.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <limits>

#include "core/simd.h"
#include "primitives/geometry/box_bounds-inl.h"

#ifndef MLUOP_PRIMITIVES_BOUND_ARGS
#define MLUOP_PRIMITIVES_BOUND_ARGS
namespace mluop {

struct BoundArgs {
  const BoundedPoints& bounded;
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Work items: (b, group of points), with the padding of a batch.
void bound(const BoundArgs& args, int64_t begin, int64_t end, Task&) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const BoundedPoints& bounded = args.bounded;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / bounded.per_batch, group = item % bounded.per_batch;
    const int64_t first = group * PointPlanes::kGroupPoints;
    bounded.bounds.set(item, group < bounded.planes.groups
                                 ? bounds_of_points(bounded.planes.plane(b, 0) + first,
                                                    bounded.planes.plane(b, 1) + first, PointPlanes::kGroupPoints)
                                 : Bounds{kNan, kNan, kNan, kNan});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

MLUOP_EXPORT_KERNEL(bound_kernel, bound, BoundArgs);

void bound_points(Context& context, const BoundedPoints& bounded, mluOpDataType_t dtype, const void* points) {
  separate_coordinates(context, bounded.planes, dtype, points);
  const int64_t items = bounded.planes.B * bounded.per_batch;
  constexpr int64_t kGroupBytes = PointPlanes::kGroupPoints * 2 * int64_t{sizeof(float)};
  launch(context, "bound", choose_task_dim(items, items * kGroupBytes), Evenly{items}, bound_kernel(), {bounded});
}

}  // namespace mluop
#endif

#include "primitives/geometry/point_planes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/geometry/point_planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "primitives/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PointTag = hn::CappedTag<float, 16>;

// Work items: (b, group of points). T: an element type.
template <class T>
void separate(const SeparateArgs& args, int64_t begin, int64_t end, Task&) {
  const PointTag d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  static_assert(PointPlanes::kGroupPoints % kLanes == 0);
  const PointPlanes& planes = args.planes;
  const int64_t N = planes.N;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / planes.groups;
    const int64_t first = item % planes.groups * PointPlanes::kGroupPoints;
    const int64_t last = first + PointPlanes::kGroupPoints;
    const T* points = static_cast<const T*>(args.points) + b * N * 3;
    float* const to[3] = {planes.plane(b, 0), planes.plane(b, 1), planes.plane(b, 2)};
    int64_t n = first;
    for (; n + kLanes <= std::min(last, N); n += kLanes) {
      hn::Vec<PointTag> x, y, z;
      load_interleaved_f32(d, points + n * 3, x, y, z);
      hn::Store(x, d, to[0] + n);
      hn::Store(y, d, to[1] + n);
      hn::Store(z, d, to[2] + n);
    }
    for (; n < last; ++n) {
      for (int64_t dim = 0; dim < 3; ++dim) {
        to[dim][n] = n < N ? to_f32(points[n * 3 + dim]) : std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
}

MLUOP_SELECT_BY_DTYPE(separate, SeparateArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

MLUOP_EXPORT_KERNEL_OF_DTYPE(separate_kernel, separate, SeparateArgs);

void separate_coordinates(Context& context, const PointPlanes& planes, mluOpDataType_t dtype, const void* points) {
  const int64_t items = planes.B * planes.groups;
  constexpr int64_t kGroupBytes = PointPlanes::kGroupPoints * 3 * int64_t{sizeof(float)};
  launch(context, "separate", choose_task_dim(items, items * kGroupBytes), Evenly{items}, separate_kernel(dtype),
         {planes, points});
}

}  // namespace mluop
#endif

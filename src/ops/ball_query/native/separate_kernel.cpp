#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/ball_query/native/separate_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/ball_query/native/kernels.h"
#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::ball_query::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr auto kPlaneLanes = static_cast<int64_t>(hn::MaxLanes(D()));
static_assert(Planes::kGroupPoints % kPlaneLanes == 0);

HWY_INLINE void load(const float* from, V& x, V& y, V& z) { hn::LoadInterleaved3(D(), from, x, y, z); }

HWY_INLINE void load(const Half* from, V& x, V& y, V& z) {
  const hn::Rebind<uint16_t, D> d;
  hn::Vec<decltype(d)> of_x, of_y, of_z;
  hn::LoadInterleaved3(d, reinterpret_cast<const uint16_t*>(from), of_x, of_y, of_z);
  x = mluop::HWY_NAMESPACE::f16_to_f32(D(), of_x);
  y = mluop::HWY_NAMESPACE::f16_to_f32(D(), of_y);
  z = mluop::HWY_NAMESPACE::f16_to_f32(D(), of_z);
}

// T: float or Half.
template <class T>
void separate(const SeparateArgs& args, int64_t begin, int64_t end, Task&) {
  const D d;
  const Planes& planes = args.planes;
  const int64_t N = args.call.N;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / planes.groups;
    const int64_t first = item % planes.groups * Planes::kGroupPoints;
    const int64_t last = first + Planes::kGroupPoints;
    const T* points = static_cast<const T*>(args.call.xyz) + b * N * 3;
    float* const to[3] = {planes.plane(b, 0), planes.plane(b, 1), planes.plane(b, 2)};
    int64_t n = first;
    for (; n + kPlaneLanes <= std::min(last, N); n += kPlaneLanes) {
      V x, y, z;
      load(points + n * 3, x, y, z);
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
}  // namespace mluop::ball_query::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::ball_query::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(separate_kernel, separate, SeparateArgs);

}  // namespace mluop::ball_query::native
#endif

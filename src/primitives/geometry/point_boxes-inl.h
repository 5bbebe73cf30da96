// Tests which points a box contains. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_POINT_BOXES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_POINT_BOXES_INL_H
#undef MLUOP_PRIMITIVES_POINT_BOXES_INL_H
#else
#define MLUOP_PRIMITIVES_POINT_BOXES_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "primitives/geometry/point_boxes.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products are rounded before they are added: bit-identical to the serial loop.
class BoxTest {
 public:
  using D = hn::CappedTag<float, 16>;
  using V = hn::Vec<D>;
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

  HWY_INLINE explicit BoxTest(const PointBox& box)
      : x_(hn::Set(D(), box.x)),
        y_(hn::Set(D(), box.y)),
        z_(hn::Set(D(), box.z)),
        cosine_(hn::Set(D(), box.cosine)),
        sine_(hn::Set(D(), box.sine)),
        reach_u_(hn::Set(D(), box.reach_u)),
        reach_v_(hn::Set(D(), box.reach_v)),
        reach_z_(hn::Set(D(), box.reach_z)) {}

  // The lanes of kLanes points that the box contains; x, y and z are aligned to a vector.
  HWY_INLINE hn::Mask<D> contains(const float* x, const float* y, const float* z) const {
    const D d;
    const V dx = hn::Sub(hn::Load(d, x), x_);
    const V dy = hn::Sub(hn::Load(d, y), y_);
    const V dz = hn::Sub(hn::Load(d, z), z_);
    const V u = hn::Add(hn::Mul(dx, cosine_), hn::Mul(dy, sine_));
    const V v = hn::Sub(hn::Mul(dy, cosine_), hn::Mul(dx, sine_));
    const auto in_plane = hn::And(hn::Lt(hn::Abs(u), reach_u_), hn::Lt(hn::Abs(v), reach_v_));
    // A NaN height is inside.
    return hn::AndNot(hn::Gt(hn::Abs(dz), reach_z_), in_plane);
  }

 private:
  V x_, y_, z_, cosine_, sine_, reach_u_, reach_v_, reach_z_;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard

#include "primitives/geometry/point_boxes.h"

#include <cmath>
#include <limits>

#include "core/dtype.h"

namespace mluop {
namespace {

// Cost of preparing a box, in bytes of memory traffic.
constexpr int64_t kPrepareBytes = 512;

struct PrepareArgs {
  const PointBoxes& prepared;
  BoxRule rule;
  const void* boxes;  // [B, T, 7]
};

// Rounds the reaches so that comparing floats with them equals comparing with the exact half sides.
PointBox make_box(const float (&from)[7], BoxRule rule) {
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

// The bounds contain each point inside the box, allowing for the roundings of the test, whose relative errors add
// up to less than 2^-21.
Bounds bounds_of(const PointBox& box) {
  const double reach = std::hypot(double{box.reach_u}, double{box.reach_v}) * (1 + 0x1p-20) + 0x1p-120;
  return bounds_around(double{box.x} - reach, double{box.y} - reach, double{box.x} + reach, double{box.y} + reach);
}

// Work items: (b, group of boxes). T: an element type.
template <class T>
void prepare(const PrepareArgs& args, int64_t begin, int64_t end, Task&) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const PointBoxes& prepared = args.prepared;
  for (int64_t i = begin * BoxBounds::kGroupBoxes; i < end * BoxBounds::kGroupBoxes; ++i) {
    const int64_t b = i / prepared.per_batch, t = i % prepared.per_batch;
    if (t < prepared.T) {
      const T* from = static_cast<const T*>(args.boxes) + (b * prepared.T + t) * 7;
      float box[7];
      for (int field = 0; field < 7; ++field) box[field] = to_f32(from[field]);
      prepared.boxes[i] = make_box(box, args.rule);
      prepared.bounds.set(i, bounds_of(prepared.boxes[i]));
    } else {
      prepared.bounds.set(i, {kNan, kNan, kNan, kNan});
    }
  }
}

}  // namespace

void prepare_boxes(Context& context, const PointBoxes& prepared, BoxRule rule, mluOpDataType_t dtype,
                   const void* boxes) {
  const int64_t groups = prepared.B * (prepared.per_batch / BoxBounds::kGroupBoxes);
  const auto kernel =
      dispatch_dtype(dtype, [](auto element) -> RangeKernel<PrepareArgs> { return prepare<decltype(element)>; });
  launch(context, "prepare", choose_task_dim(groups, prepared.B * prepared.T * kPrepareBytes), Evenly{groups},
         kernel, {prepared, rule, boxes});
}

}  // namespace mluop

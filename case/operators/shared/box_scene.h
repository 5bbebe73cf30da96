// Generated points and 3-D boxes: points in the boxes, near their faces and elsewhere.
#pragma once

#include "case/description.h"

namespace mluop::cases {

// Sizes of the generator: whether numbers of points and boxes include NaN, infinity, 0 and -1; whether all numbers
// are random.
inline const SizeRule kSpecials = {"specials", 0, 0, 1, false};
inline const SizeRule kUniform = {"uniform", 0, 0, 1, false};

struct BoxScene {
  Tensor points;  // [..., 3]
  Tensor boxes;   // [..., 7]: x, y, z, dx, dy, dz, yaw
};

// Sets the elements of points [M, 3] and boxes [T, 7], or [B, M, 3] and [B, T, 7].
BoxScene make_box_scene(const Recipe& r, Tensor points, Tensor boxes);

}  // namespace mluop::cases

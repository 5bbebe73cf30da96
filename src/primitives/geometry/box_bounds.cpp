#include "primitives/geometry/box_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mluop {

float rounded_down(double value) {
  const auto nearest = static_cast<float>(value);
  return double{nearest} > value ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

float rounded_up(double value) { return -rounded_down(-value); }

Bounds bounds_around(double min_x, double min_y, double max_x, double max_y) {
  return {rounded_down(min_x), rounded_down(min_y), rounded_up(max_x), rounded_up(max_y)};
}

void BoxBounds::pad() const {
  for (float* each : {min_x, min_y, max_x, max_y}) {
    std::fill(each + count, each + padded_count, std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace mluop

// Axis-aligned bounding boxes in a plane, as a structure of arrays. Only pairs whose bounds meet need an exact and
// expensive intersection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/arena.h"
#include "core/sizes.h"

namespace mluop {

// An axis-aligned rectangle that contains a box. A rectangle with NaN meets no other.
struct Bounds {
  // Bounds that meet no other, and bounds that meet all except these.
  static constexpr Bounds none() {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    return {kNan, kNan, kNan, kNan};
  }
  static constexpr Bounds all() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return {-kInfinity, -kInfinity, kInfinity, kInfinity};
  }

  float min_x, min_y, max_x, max_y;
};

// The area shared by two boxes, in fp32; offset is added to its width and height. A NaN coordinate of b is
// replaced by the coordinate of a; a NaN width or height becomes 0.
inline float shared_area(const Bounds& a, const Bounds& b, float offset) {
  const float width = std::max(0.0F, std::min(a.max_x, b.max_x) - std::max(a.min_x, b.min_x) + offset);
  const float height = std::max(0.0F, std::min(a.max_y, b.max_y) - std::max(a.min_y, b.min_y) + offset);
  return width * height;
}

// The area of a box for an IoU, in fp32; offset is added to its width and height. If either is then 0 or less, the
// box is empty: its shared areas are 0, and so is its IoU with any box of positive area.
inline float area_of(const Bounds& box, float offset) {
  const float width = box.max_x - box.min_x + offset, height = box.max_y - box.min_y + offset;
  const bool is_empty = (width <= 0) | (height <= 0);  // branch-free
  return is_empty ? 1 : width * height;
}

inline float iou_of(float shared, float area_a, float area_b) { return shared / (area_a + area_b - shared); }

// The nearest float not above (or not below) the value; NaN for NaN.
float rounded_down(double value);
float rounded_up(double value);

// The smallest Bounds of float that contain the given bounds.
Bounds bounds_around(double min_x, double min_y, double max_x, double max_y);

struct BoxBounds {
  // Arrays are padded to whole groups with bounds that meet no other.
  static constexpr int64_t kGroupBoxes = 64;

  BoxBounds(Arena& arena, int64_t box_count)
      : count(box_count),
        padded_count(ceil_div(box_count, kGroupBoxes) * kGroupBoxes),
        min_x(arena.take<float>("min x", {padded_count})),
        min_y(arena.take<float>("min y", {padded_count})),
        max_x(arena.take<float>("max x", {padded_count})),
        max_y(arena.take<float>("max y", {padded_count})) {}

  void set(int64_t i, const Bounds& bounds) const {
    min_x[i] = bounds.min_x;
    min_y[i] = bounds.min_y;
    max_x[i] = bounds.max_x;
    max_y[i] = bounds.max_y;
  }
  Bounds operator[](int64_t i) const { return {min_x[i], min_y[i], max_x[i], max_y[i]}; }

  int64_t group_count() const { return padded_count / kGroupBoxes; }

  // Sets the padding. The writer of the last box calls it.
  void pad() const;

  int64_t count, padded_count;
  float *min_x, *min_y, *max_x, *max_y;  // [padded_count]
};

// Boxes of any kind and their bounds.
template <class Box>
struct BoundedBoxes {
  BoundedBoxes(Arena& arena, int64_t count) : boxes(arena.take<Box>("boxes", {count})), bounds(arena, count) {}

  Box* boxes;  // [count]
  BoxBounds bounds;
};

}  // namespace mluop

// Bounding boxes of the boxes of a plane, a coordinate at a time, and the pairs of them that meet: what an exact
// and expensive intersection of two boxes is worth computing for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"

namespace mluop {

// An axis-aligned rectangle that contains a box. One with NaN meets no other.
struct Bounds {
  float min_x, min_y, max_x, max_y;
};

// The area that two boxes share, in fp32; offset is added to its width and height. A coordinate of b that is NaN
// gives way to that of a; a width or height that is NaN is 0.
inline float shared_area(const Bounds& a, const Bounds& b, float offset) {
  const float width = std::max(0.0F, std::min(a.max_x, b.max_x) - std::max(a.min_x, b.min_x) + offset);
  const float height = std::max(0.0F, std::min(a.max_y, b.max_y) - std::max(a.min_y, b.min_y) + offset);
  return width * height;
}

// The area of a box for an IoU, in fp32; offset is added to its width and height. If one of these is then 0 or
// less, the box is empty: shared areas are 0, and with any positive area so are the IoUs.
inline float area_of(const Bounds& box, float offset) {
  const float width = box.max_x - box.min_x + offset, height = box.max_y - box.min_y + offset;
  const bool is_empty = (width <= 0) | (height <= 0);  // without a branch
  return is_empty ? 1 : width * height;
}

inline float iou_of(float shared, float area_a, float area_b) { return shared / (area_a + area_b - shared); }

// The nearest float that is not above, or not below, the value; NaN for NaN.
float rounded_down(double value);
float rounded_up(double value);

// The least Bounds of float that contain the given ones.
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

  // Sets the padding; by whoever sets the last box.
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

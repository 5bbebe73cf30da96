// Rotated boxes for tests, and pairs of boxes with equal or nearly equal rectangles but different numbers: pairs
// for which algorithms with absolute tolerances fail.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace mluop::test {

struct RotatedBox {
  float x, y, width, height, angle;
};

inline std::vector<float> numbers_of(const std::vector<RotatedBox>& boxes) {
  std::vector<float> numbers;
  for (const auto& [x, y, width, height, angle] : boxes) {
    numbers.insert(numbers.end(), {x, y, width, height, angle});
  }
  return numbers;
}

inline constexpr auto kPi = std::numbers::pi_v<float>;

inline RotatedBox turned(RotatedBox box, float angle) {
  box.angle += angle;
  return box;
}

inline RotatedBox turned_by_ulps(RotatedBox box, int count) {
  for (int i = 0; i < count; ++i) box.angle = std::nextafter(box.angle, std::numeric_limits<float>::max());
  return box;
}

struct SameRectangle {
  const char* name;
  RotatedBox (*other)(const RotatedBox&);
};

inline constexpr SameRectangle kSameRectangles[] = {
    {"equal", [](const RotatedBox& box) { return box; }},
    {"1 ulp", [](const RotatedBox& box) { return turned_by_ulps(box, 1); }},
    {"2 ulp", [](const RotatedBox& box) { return turned_by_ulps(box, 2); }},
    {"4 ulp", [](const RotatedBox& box) { return turned_by_ulps(box, 4); }},
    {"10 ulp", [](const RotatedBox& box) { return turned_by_ulps(box, 10); }},
    {"angle + pi", [](const RotatedBox& box) { return turned(box, kPi); }},
    {"angle - 2 pi", [](const RotatedBox& box) { return turned(box, -2 * kPi); }},
    {"sides exchanged, angle + pi / 2",
     [](const RotatedBox& box) {
       return RotatedBox{box.x, box.y, box.height, box.width, box.angle + kPi / 2};
     }},
    {"sides exchanged, angle - pi / 2",
     [](const RotatedBox& box) {
       return RotatedBox{box.x, box.y, box.height, box.width, box.angle - kPi / 2};
     }},
};

}  // namespace mluop::test

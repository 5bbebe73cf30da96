// Generated quadrilaterals whose sides do not cross, in either direction, convex and concave.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "case/description.h"

namespace mluop::cases {

inline constexpr int64_t kQuadColumns = 8;
using Quad = std::array<float, kQuadColumns>;  // the corners x1, y1, ..., x4, y4

class Quads {
 public:
  // `count` quadrilaterals form a scene, from 0 to the square root of their number, in which one overlaps a few
  // others. With specials, one in 8 has a number that is not finite, or corners on a line.
  Quads(int32_t seed, int64_t count, bool has_specials)
      : random_(seed), side_(std::sqrt(static_cast<float>(count))), has_specials_(has_specials) {}

  Quad anywhere() {
    const float x = uniform(0, side_), y = uniform(0, side_);
    return around(x, y, std::exp2(uniform(-2, 2)));
  }

  // Corners in ascending or descending order of their angles around a center, at most `size` away. One in four is
  // concave.
  Quad around(float x, float y, float size) {
    const float turn = uniform(0, 2 * kPi), direction = random_.below(2) == 0 ? 1.0F : -1.0F;
    const bool is_concave = random_.below(4) == 0;
    Quad quad;
    for (size_t i = 0; i < 4; ++i) {
      const float angle = turn + direction * (static_cast<float>(i) + uniform(-0.3F, 0.3F)) * kPi / 2;
      const float radius = size * (is_concave && i == 0 ? uniform(0.05F, 0.2F) : uniform(0.6F, 1));
      quad[2 * i] = x + radius * std::cos(angle);
      quad[2 * i + 1] = y + radius * std::sin(angle);
    }
    return quad;
  }

  // Half of the quadrilaterals are anywhere; the others are nearly `other`.
  Quad near(const Quad& other) {
    Quad quad = other;
    switch (random_.below(8)) {
      case 0: break;
      case 1: quad[random_.below(kQuadColumns)] *= 1 + static_cast<float>(random_.below(10)) * kEpsilon; break;
      case 2: std::rotate(quad.begin(), quad.begin() + 2, quad.end()); break;
      case 3:
        for (float& number : quad) number += uniform(-0.02F, 0.02F);
        break;
      default: quad = anywhere();
    }
    return quad;
  }

  // Appends the numbers of a quadrilateral, or of a special one in its place.
  void append(Quad quad, std::vector<float>& to) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
    if (has_specials_ && random_.below(8) == 0) {
      const int32_t kind = random_.below(4);
      if (kind < 3) {
        quad[random_.below(kQuadColumns)] = kValues[kind];
      } else {
        for (size_t i = 1; i < kQuadColumns; i += 2) quad[i] = quad[1];
      }
    }
    to.insert(to.end(), quad.begin(), quad.end());
  }

  int32_t below(int64_t count) { return random_.below(count); }
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(random_.below(1 << 24)) * 0x1p-24F;
  }

 private:
  static constexpr auto kPi = std::numbers::pi_v<float>;
  static constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

  Integers random_;
  float side_;
  bool has_specials_;
};

}  // namespace mluop::cases

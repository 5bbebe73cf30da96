// bounds_around(): the floats next to any double, on its outer sides.
#include "primitives/geometry/box_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/special_values.h"

namespace mluop::test {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

struct Row {
  double value;
  float below, above;
};

const Row kRows[] = {
    {0.5, 0.5F, 0.5F},
    {1 + 0x1p-30, 1, 1 + 0x1p-23F},
    {-1 - 0x1p-30, -1 - 0x1p-23F, -1},
    {2 - 0x1p-30, 2 - 0x1p-23F, 2},
    {1e-60, 0, kTiny},
    {-1e-60, -kTiny, 0},
    {1e39, kMax, kInfinity},
    {-1e39, -kInfinity, -kMax},
    {kInfinity, kInfinity, kInfinity},
    {-kInfinity, -kInfinity, -kInfinity},
};

TEST(PrimitivesBoxBounds, RoundOutward) {
  for (const auto& [value, below, above] : kRows) {
    const Bounds x = bounds_around(value, 0, value, 0), y = bounds_around(0, value, 0, value);
    EXPECT_EQ(x.min_x, below) << value;
    EXPECT_EQ(x.max_x, above) << value;
    EXPECT_EQ(y.min_y, below) << value;
    EXPECT_EQ(y.max_y, above) << value;
  }
  EXPECT_TRUE(std::isnan(bounds_around(kNan, 0, 0, 0).min_x));
}

}  // namespace
}  // namespace mluop::test

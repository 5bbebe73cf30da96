// mluOpOmpBoxesOverlapBev: known areas, and boxes whose corners are at the margin of others, against the serial
// loop of its definition. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "support/environment.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using Box = std::array<float, 7>;  // x, y, z, dx, dy, dz, yaw

constexpr auto kPi = std::numbers::pi_v<float>;

cases::Case make(const std::vector<Box>& a, const std::vector<Box>& b) {
  const auto size = [](const std::vector<Box>& boxes) { return static_cast<int64_t>(boxes.size()); };
  cases::Case made = make_case("boxes_overlap_bev", MLUOP_DTYPE_FLOAT, {{"n", size(a)}, {"m", size(b)}});
  const auto values = [](const std::vector<Box>& boxes) {
    std::vector<float> all;
    for (const Box& box : boxes) all.insert(all.end(), box.begin(), box.end());
    return all;
  };
  set_values(made, "boxes_a", values(a));
  set_values(made, "boxes_b", values(b));
  return made;
}

float overlap(const Box& a, const Box& b) {
  const Handle handle;
  const OperatorCall call(handle, make({a}, {b}));
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats("overlaps")[0];
}

struct Example {
  Box a, b;
  double overlap;
};

const Example kExamples[] = {
    // An octagon, 8 (sqrt(2) - 1).
    {{0, 0, 0, 2, 2, 1, 0}, {0, 0, 0, 2, 2, 1, kPi / 4}, 3.3137084990},
    {{0, 0, 0, 4, 2, 1, 0}, {1, 0.5F, 0, 4, 2, 1, 0}, 4.5},
    {{0, 0, 0, 4, 2, 1, kPi / 6}, {1, 0.5F, 0, 4, 2, 1, -kPi / 6}, 4.0514428415},
    // A cross: no corner is in the other box.
    {{0, 0, 0, 4, 1, 1, 0}, {0, 0, 0, 4, 1, 1, kPi / 2}, 1},
    // One box in the other, with common edges; the same box with other parameters.
    {{0, 0, 0, 4, 2, 1, 0}, {0, 0, 0, 4, 1, 1, 0}, 4},
    {{3, 2, 0, 4, 2, 1, 0.3F}, {3, 2, 0, 4, 2, 1, 0.3F}, 8},
    {{3, 2, 0, 4, 2, 1, 0.3F}, {3, 2, 0, 2, 4, 1, 0.3F + kPi / 2}, 8},
    // The boxes have an edge or a corner in common.
    {{0, 0, 0, 2, 2, 1, 0}, {2, 0, 0, 2, 2, 1, 0}, 0},
    {{0, 0, 0, 2, 2, 1, 0}, {2, 2, 0, 2, 2, 1, 0}, 0},
    // Gaps of 5 mm, less than the margin, and of 20 mm.
    {{0, 0, 0, 4, 2, 1.5F, 0}, {4.005F, 0, 0, 4, 2, 1.5F, 0}, 0.0100002289},
    {{0, 0, 0, 4, 2, 1.5F, 0}, {4.02F, 0, 0, 4, 2, 1.5F, 0}, 0},
    // Yaw turns the x axis to the y axis.
    {{1010.5F, 860.00012207F, 0, 12.20655537F, 48.82622528F, 1, 0.9600703720F},
     {1022, 870.49993896F, 0, 10.81665134F, 43.26660919F, 1, 0.9827936607F},
     0},
    {{1010.5F, 860.00012207F, 0, 12.20655537F, 48.82622528F, 1, -0.9600703720F},
     {1022, 870.49993896F, 0, 10.81665134F, 43.26660919F, 1, -0.9827936607F},
     286.6533},
    // An infinite side contains corners.
    {{0, 0, 0, kInfinity, 4, 1, 0}, {1, 0, 0, 2, 2, 1, 0}, 4},
};

TEST(OpsBoxesOverlapBev, WorkedExamples) {
  for (const auto& [a, b, expected] : kExamples) {
    SCOPED_TRACE(expected);
    EXPECT_NEAR(overlap(a, b), expected, 1e-6 * expected);
    EXPECT_NEAR(overlap(b, a), expected, 1e-6 * expected);
  }
}

TEST(OpsBoxesOverlapBev, HeightIsNotRead) {
  const Box a = {0, 0, kNan, 4, 2, kInfinity, 0}, b = {1, 0.5F, -kInfinity, 4, 2, kNan, 0};
  EXPECT_EQ(overlap(a, b), 4.5F);
}

TEST(OpsBoxesOverlapBev, NanAndInfinity) {
  const Box box = {0, 0, 0, 4, 2, 1, 0};
  for (const size_t field : {0, 1, 3, 4, 6}) {
    for (const float value : {kNan, kInfinity, -kInfinity}) {
      if (value == kInfinity && (field == 3 || field == 4)) continue;
      Box other = box;
      other[field] = value;
      EXPECT_EQ(overlap(box, other), 0) << field << ' ' << value;
      EXPECT_EQ(overlap(other, box), 0) << field << ' ' << value;
      EXPECT_EQ(overlap(other, other), 0) << field << ' ' << value;
    }
  }
}

// Gaps around the margin on both sides and at the corners, at any yaw and at coordinates of any size: the bounds
// of the kernel exclude no overlap.
TEST(OpsBoxesOverlapBev, Gaps) {
  std::vector<Box> a, b;
  for (const float center : {0.0F, -31.7F, 1000.0F, 1e5F}) {
    for (int turn = 0; turn < 16; ++turn) {
      const float yaw = static_cast<float>(turn) * 0.41F, c = std::cos(yaw), s = std::sin(yaw);
      a.push_back({center, center, 0, 4, 2, 1, yaw});
      for (const float gap : {0.0F, 0.005F, 0.009999F, 0.01F, 0.010001F, 0.02F}) {
        const float u = 4 + gap, v = 2 + gap;
        b.push_back({center + u * c, center + u * s, 0, 4, 2, 1, yaw});
        b.push_back({center - v * s, center + v * c, 0, 4, 2, 1, yaw});
        b.push_back({center + u * c - v * s, center + u * s + v * c, 0, 4, 2, 1, yaw});
        b.push_back({center, center, 0, 4, 2, 1, yaw + gap});
      }
    }
  }
  const ScopedThreads threads(3);
  expect_oracle(make(a, b), Placement::kAgainstEnd);
}

// Cross products of less than 1e-8: edges cross at the intersection of their lines.
TEST(OpsBoxesOverlapBev, SmallBoxes) {
  std::vector<Box> a, b;
  for (int i = 0; i < 70; ++i) {
    const auto step = static_cast<float>(i);
    a.push_back({1e-6F * step, 0, 0, 8e-5F, 4e-5F, 1, 0.3F});
    b.push_back({0, 1e-6F * step, 0, 6e-5F, 5e-5F, 1, 0.1F * step});
  }
  expect_oracle(make(a, b));
}

TEST(BigBoxesOverlapBev, NetworkSizes) {
  for (const int64_t N : {2000, 70400}) {
    expect_oracle(make_case("boxes_overlap_bev", MLUOP_DTYPE_FLOAT, {{"n", N}, {"m", 40}}));
  }
}

}  // namespace
}  // namespace mluop::test

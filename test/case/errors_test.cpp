// How reports describe the distribution of wrong elements, and which elements they show.
#include "case/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace mluop::cases {
namespace {

const Dims kDims = {2, 6, 7, 16};
const std::vector<std::string> kAxes = {"batch", "y", "x", "channel"};

// The distribution of the elements for which `is_wrong(b, y, x, c)`.
std::string distribution(const std::function<bool(int64_t, int64_t, int64_t, int64_t)>& is_wrong) {
  std::vector<int64_t> wrong;
  int64_t index = 0;
  for (int64_t b = 0; b < kDims[0]; ++b) {
    for (int64_t y = 0; y < kDims[1]; ++y) {
      for (int64_t x = 0; x < kDims[2]; ++x) {
        for (int64_t c = 0; c < kDims[3]; ++c, ++index) {
          if (is_wrong(b, y, x, c)) wrong.push_back(index);
        }
      }
    }
  }
  return distribution_of(wrong, kDims, kAxes);
}

TEST(CaseErrors, Distributions) {
  using I = int64_t;
  EXPECT_EQ(distribution([](I, I, I, I) { return true; }), "everything, 1344 of all 1344 elements");
  EXPECT_EQ(distribution([](I, I, I, I c) { return c == 3; }),
            "one channel: 3 of 16 (dim 3), 84 of its 84 elements");
  // A channel of which only the occupied cells are wrong.
  EXPECT_EQ(distribution([](I, I y, I x, I c) { return c == 3 && (x + y) % 3 == 0; }),
            "one channel: 3 of 16 (dim 3), 28 of its 84 elements");
  EXPECT_EQ(distribution([](I b, I, I, I) { return b == 1; }),
            "one batch: 1 of 2 (dim 0), 672 of its 672 elements");
  EXPECT_EQ(distribution([](I b, I y, I x, I c) { return b == 1 && y < 2 && x >= 5 && c < 8; }),
            "a tile: [1:2, 0:2, 5:7, 0:8], 32 of its 32 elements");
  EXPECT_EQ(distribution([](I, I, I, I c) { return c % 4 == 1; }),
            "every 4th channel from 1 (dim 3), 336 of their 336 elements");
  EXPECT_EQ(distribution([](I, I, I, I c) { return c == 1 || c == 2 || c == 9; }),
            "3 of 16 indices of channel: 1, 2, 9 (dim 3), 252 of their 252 elements");
  EXPECT_EQ(distribution([](I, I, I, I c) { return c >= 4 && c < 8; }),
            "4 of 16 indices of channel: 4 to 7 (dim 3), 336 of their 336 elements");
  EXPECT_EQ(distribution([](I b, I y, I x, I c) { return b == 0 && y == 1 && x == 2 && c == 3; }), "one element");
  EXPECT_EQ(distribution([](I b, I y, I x, I c) {
              return (b * 42 + y * 7 + x) * 16 + c == 100 || (b + y + x == 0 && c == 5);
            }),
            "a few elements: 2");
  EXPECT_EQ(distribution([](I b, I y, I x, I c) {
              return (b * 7919 + y * 104729 + x * 1299709 + c * 15485863) % 11 == 0;
            }).substr(0, 10),
            "scattered:");
}

TEST(CaseErrors, WorstElementsFirst) {
  std::vector<float> found(24, 1), expected(24, 1);
  found[5] = 1.5F;
  found[7] = std::numeric_limits<float>::quiet_NaN();
  found[20] = -3;
  const Results results{MLUOP_DTYPE_FLOAT, 24, reinterpret_cast<const std::byte*>(found.data()),
                        reinterpret_cast<const std::byte*>(expected.data()), false};
  const ErrorReport report = errors_of(results, {2, 3, 4}, {}, 1e-3, 2);
  EXPECT_EQ(report.wrong, 3);
  ASSERT_EQ(report.worst.size(), 2U);
  EXPECT_EQ(report.worst[0].position, (Dims{0, 1, 3}));
  EXPECT_EQ(report.worst[0].absolute, HUGE_VAL);
  EXPECT_EQ(report.worst[1].position, (Dims{1, 2, 0}));
  EXPECT_EQ(report.worst[1].absolute, 4);
  EXPECT_EQ(report.worst[1].relative, 4);
}

// An infinity or a NaN of one side only is an infinite error, whichever side has it.
TEST(CaseErrors, OneInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float found[] = {HUGE_VALF, 1, HUGE_VALF, -HUGE_VALF, 1},
              expected[] = {HUGE_VALF, HUGE_VALF, 1, HUGE_VALF, nan};
  const Results results{MLUOP_DTYPE_FLOAT, 5, reinterpret_cast<const std::byte*>(found),
                        reinterpret_cast<const std::byte*>(expected), false};
  const ErrorReport report = errors_of(results, {5}, {}, 1e-3, 5);
  ASSERT_EQ(report.worst.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.worst[i].position, Dims{static_cast<int64_t>(i) + 1});
    EXPECT_EQ(report.worst[i].relative, HUGE_VAL);
  }
}

// Errors below the threshold everywhere, whose sum exceeds it, are all shown.
TEST(CaseErrors, SmallErrorsEverywhere) {
  const std::vector<float> found(50, 1.001F), expected(50, 1);
  const Results results{MLUOP_DTYPE_FLOAT, 50, reinterpret_cast<const std::byte*>(found.data()),
                        reinterpret_cast<const std::byte*>(expected.data()), false};
  EXPECT_EQ(errors_of(results, {50}, {}, 0.01, 1).wrong, 50);
}

}  // namespace
}  // namespace mluop::cases

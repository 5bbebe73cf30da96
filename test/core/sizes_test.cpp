#include "core/sizes.h"

#include <gtest/gtest.h>

namespace mluop::test {
namespace {

TEST(CoreSizes, CheckedProduct) {
  EXPECT_EQ(checked_product(6, 7), 42);
  EXPECT_EQ(checked_product(0, INT64_MAX), 0);
  EXPECT_EQ(checked_product(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(checked_product(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_product(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_product(INT64_MAX, 2), std::nullopt);
  EXPECT_EQ(checked_product(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(checked_product(INT64_MIN, -1), std::nullopt);
}

TEST(CoreSizes, CheckedSum) {
  EXPECT_EQ(checked_sum(40, 2), 42);
  EXPECT_EQ(checked_sum(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(checked_sum(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_sum(INT64_MAX, INT64_MIN), -1);
  EXPECT_EQ(checked_sum(INT64_MIN, -1), std::nullopt);
}

TEST(CoreSizes, Rounding) {
  constexpr struct {
    int64_t a, b, quotient, rounded;
  } kTable[] = {{0, 64, 0, 0}, {1, 64, 1, 64}, {63, 64, 1, 64}, {64, 64, 1, 64}, {65, 64, 2, 128}, {7, 1, 7, 7}};
  for (const auto& row : kTable) {
    EXPECT_EQ(ceil_div(row.a, row.b), row.quotient) << row.a;
    EXPECT_EQ(round_up(row.a, row.b), row.rounded) << row.a;
  }
}

}  // namespace
}  // namespace mluop::test

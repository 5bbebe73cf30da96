// The metrics and both verdicts.
#include "case/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace mluop::cases {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = HUGE_VALF;

struct Data {
  std::vector<float> found, expected;

  Judgment judge(Metric metric, double threshold, Verdict verdict = Verdict::kStrict) const {
    const Results results{MLUOP_DTYPE_FLOAT, found.size(), reinterpret_cast<const std::byte*>(found.data()),
                          reinterpret_cast<const std::byte*>(expected.data()), false};
    return mluop::cases::judge(results, {{metric, threshold}}, verdict).front();
  }
};

TEST(CaseMetrics, Formulas) {
  const Data data{{2, 4, -1}, {1, 4, -4}};
  EXPECT_EQ(data.judge(Metric::kDiff1, 1).value, "0.444");  // 4 / 9
  EXPECT_EQ(data.judge(Metric::kDiff2, 1).value, "0.55");   // sqrt(10 / 33)
  EXPECT_EQ(data.judge(Metric::kDiff3, 1).value, "1");
  EXPECT_EQ(data.judge(Metric::kDiff3_2, 1).value, "3");
  EXPECT_EQ(data.judge(Metric::kDiff4, 1).value, "1/0 of 2");
  EXPECT_EQ(data.judge(Metric::kBits, 0).value, "differ");
  EXPECT_TRUE(data.judge(Metric::kDiff3_2, 3).passed);
  EXPECT_FALSE(data.judge(Metric::kDiff3_2, 2.9).passed);
}

// diff3 is the absolute error where the baseline is at most 1e-6.
TEST(CaseMetrics, Diff3OfSmallNumbers) {
  EXPECT_EQ((Data{{3e-6F, 2}, {1e-6F, 2}}).judge(Metric::kDiff3, 1).value, "2e-06");
  EXPECT_EQ((Data{{3e-5F, 2}, {1e-5F, 2}}).judge(Metric::kDiff3, 1).value, "2");
}

TEST(CaseMetrics, ZeroDenominators) {
  for (const Metric metric : {Metric::kDiff1, Metric::kDiff2}) {
    EXPECT_TRUE((Data{{0, 0}, {0, 0}}).judge(metric, 0).passed);
    EXPECT_FALSE((Data{{1e-12F, 0}, {0, 0}}).judge(metric, 1e300).passed);
    EXPECT_TRUE((Data{{1e-12F, 0}, {0, 0}}).judge(metric, 0.1, Verdict::kUpstream).passed);
  }
}

TEST(CaseMetrics, NaNAndInfinityNeverPassUnlessEqual) {
  for (const Metric metric : {Metric::kDiff1, Metric::kDiff2, Metric::kDiff3, Metric::kDiff3_2, Metric::kDiff4}) {
    EXPECT_FALSE((Data{{kNaN, 1}, {1, 1}}).judge(metric, 1e300).passed);
    EXPECT_FALSE((Data{{1, 1}, {kNaN, 1}}).judge(metric, 1e300).passed);
    EXPECT_FALSE((Data{{kInf, 1}, {-kInf, 1}}).judge(metric, 1e300).passed);
    EXPECT_FALSE((Data{{kInf, 1}, {1, 1}}).judge(metric, 1e300).passed);
    EXPECT_TRUE((Data{{kNaN, kInf, -kInf, 1}, {kNaN, kInf, -kInf, 1}}).judge(metric, 0).passed);
  }
}

// With non-zero thresholds only NaN and infinity are compared.
TEST(CaseMetrics, UpstreamComparesOnlySpecials) {
  const Data same{{kNaN, 7}, {kNaN, 1}}, other{{kNaN, 7}, {2, 7}};
  EXPECT_TRUE(same.judge(Metric::kDiff1, 0.01, Verdict::kUpstream).passed);
  EXPECT_FALSE(same.judge(Metric::kDiff1, 0.01).passed);
  EXPECT_FALSE(same.judge(Metric::kDiff1, 0, Verdict::kUpstream).passed);
  EXPECT_FALSE(other.judge(Metric::kDiff1, 0.01, Verdict::kUpstream).passed);
}

TEST(CaseMetrics, Diff4) {
  Data few{std::vector<float>(99, 2), std::vector<float>(99, 1)};
  EXPECT_TRUE(few.judge(Metric::kDiff4, 0.9, Verdict::kUpstream).passed);
  EXPECT_FALSE(few.judge(Metric::kDiff4, 0.9).passed);
  Data many{std::vector<float>(100, 2), std::vector<float>(100, 1)};
  EXPECT_FALSE(many.judge(Metric::kDiff4, 1, Verdict::kUpstream).passed);
  many.found[5] = 0;
  EXPECT_TRUE(many.judge(Metric::kDiff4, 0, Verdict::kUpstream).passed);
}

TEST(CaseMetrics, Bits) {
  const auto passes = [](uint32_t found, uint32_t expected, bool nan_payloads) {
    const Results results{MLUOP_DTYPE_FLOAT, 1, reinterpret_cast<const std::byte*>(&found),
                          reinterpret_cast<const std::byte*>(&expected), nan_payloads};
    return judge(results, {{Metric::kBits, 0}}, Verdict::kStrict).front().passed;
  };
  EXPECT_TRUE(passes(0x3F800000, 0x3F800000, true));
  EXPECT_FALSE(passes(0x80000000, 0, false));
  EXPECT_TRUE(passes(0x7FC00001, 0xFFC00002, false));
  EXPECT_FALSE(passes(0x7FC00001, 0x7FC00002, true));
}

// Errors, and squares of numbers, beyond the range of double.
TEST(CaseMetrics, SumsDoNotOverflow) {
  const double found[] = {1.5e308, 1e200, -1.5e308}, expected[] = {-1.5e308, 1e200, 1.5e308};
  const Results results{MLUOP_DTYPE_DOUBLE, 3, reinterpret_cast<const std::byte*>(found),
                        reinterpret_cast<const std::byte*>(expected), false};
  const std::vector<Judgment> judgments =
      judge(results, {{Metric::kDiff1, 2}, {Metric::kDiff2, 2}, {Metric::kDiff3, 2}}, Verdict::kStrict);
  for (const Judgment& judgment : judgments) {
    EXPECT_EQ(judgment.value, "2");
    EXPECT_TRUE(judgment.passed);
  }
}

// Thresholds of a file do not admit wrong integers.
TEST(CaseMetrics, IntegersAreExact) {
  const int32_t found[] = {1000000, 5}, expected[] = {1000001, 5};
  const Results results{MLUOP_DTYPE_INT32, 2, reinterpret_cast<const std::byte*>(found),
                        reinterpret_cast<const std::byte*>(expected), false};
  EXPECT_FALSE(judge(results, {{Metric::kDiff1, 0.1}}, Verdict::kStrict).back().passed);
  EXPECT_TRUE(judge(results, {{Metric::kDiff1, 0.1}}, Verdict::kUpstream).back().passed);
}

}  // namespace
}  // namespace mluop::cases

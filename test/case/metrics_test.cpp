// Both verdicts on the metrics, and the wrong elements that reports show. test/compare/ tests the figures.
#include "case/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "case/errors.h"

namespace mluop::cases {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = HUGE_VALF;

// T: the type of a data type, float for bits of floats.
template <class T>
struct Data {
  std::vector<T> found, expected;

  Results results(bool nan_payloads = false) const {
    const auto dtype = std::is_same_v<T, double>    ? MLUOP_DTYPE_DOUBLE
                       : std::is_same_v<T, int32_t> ? MLUOP_DTYPE_INT32
                                                    : MLUOP_DTYPE_FLOAT;
    return {dtype, found.size(), reinterpret_cast<const std::byte*>(found.data()),
            reinterpret_cast<const std::byte*>(expected.data()), nan_payloads};
  }
  Judgment judge(Metric metric, double threshold, Verdict verdict = Verdict::kStrict) const {
    return mluop::cases::judge(results(), {{metric, threshold}}, verdict).front();
  }
};
using Floats = Data<float>;

TEST(CaseMetrics, Formulas) {
  const Floats data{{2, 4, -1}, {1, 4, -4}};
  const std::pair<Metric, const char*> values[] = {{Metric::kDiff1, "0.444"},  // 4 / 9
                                                   {Metric::kDiff2, "0.55"},   // sqrt(10 / 33)
                                                   {Metric::kDiff3, "1"},        {Metric::kDiff3_2, "3"},
                                                   {Metric::kDiff4, "1/0 of 2"}, {Metric::kBits, "differ"}};
  for (const auto& [metric, value] : values) EXPECT_EQ(data.judge(metric, 1).value, value);
  EXPECT_TRUE(data.judge(Metric::kDiff3_2, 3).passed);
  EXPECT_FALSE(data.judge(Metric::kDiff3_2, 2.9).passed);
}

// diff3 is the absolute error where the baseline is at most 1e-6.
TEST(CaseMetrics, Diff3OfSmallNumbers) {
  EXPECT_EQ((Floats{{3e-6F, 2}, {1e-6F, 2}}).judge(Metric::kDiff3, 1).value, "2e-06");
  EXPECT_EQ((Floats{{3e-5F, 2}, {1e-5F, 2}}).judge(Metric::kDiff3, 1).value, "2");
}

TEST(CaseMetrics, ZeroDenominators) {
  for (const Metric metric : {Metric::kDiff1, Metric::kDiff2}) {
    EXPECT_TRUE((Floats{{0, 0}, {0, 0}}).judge(metric, 0).passed);
    EXPECT_FALSE((Floats{{1e-12F, 0}, {0, 0}}).judge(metric, 1e300).passed);
    EXPECT_TRUE((Floats{{1e-12F, 0}, {0, 0}}).judge(metric, 0.1, Verdict::kUpstream).passed);
  }
}

TEST(CaseMetrics, NaNAndInfinityNeverPassUnlessEqual) {
  for (const Metric metric : {Metric::kDiff1, Metric::kDiff2, Metric::kDiff3, Metric::kDiff3_2, Metric::kDiff4}) {
    EXPECT_FALSE((Floats{{kNaN, 1}, {1, 1}}).judge(metric, 1e300).passed);
    EXPECT_FALSE((Floats{{1, 1}, {kNaN, 1}}).judge(metric, 1e300).passed);
    EXPECT_FALSE((Floats{{kInf, 1}, {-kInf, 1}}).judge(metric, 1e300).passed);
    EXPECT_FALSE((Floats{{kInf, 1}, {1, 1}}).judge(metric, 1e300).passed);
    EXPECT_TRUE((Floats{{kNaN, kInf, -kInf, 1}, {kNaN, kInf, -kInf, 1}}).judge(metric, 0).passed);
  }
}

// With non-zero thresholds only NaN and infinity are compared.
TEST(CaseMetrics, UpstreamComparesOnlySpecials) {
  const Floats same{{kNaN, 7}, {kNaN, 1}}, other{{kNaN, 7}, {2, 7}};
  EXPECT_TRUE(same.judge(Metric::kDiff1, 0.01, Verdict::kUpstream).passed);
  EXPECT_FALSE(same.judge(Metric::kDiff1, 0.01).passed);
  EXPECT_FALSE(same.judge(Metric::kDiff1, 0, Verdict::kUpstream).passed);
  EXPECT_FALSE(other.judge(Metric::kDiff1, 0.01, Verdict::kUpstream).passed);
}

TEST(CaseMetrics, Diff4) {
  const Floats few{std::vector<float>(99, 2), std::vector<float>(99, 1)};
  EXPECT_TRUE(few.judge(Metric::kDiff4, 0.9, Verdict::kUpstream).passed);
  EXPECT_FALSE(few.judge(Metric::kDiff4, 0.9).passed);
  Floats many{std::vector<float>(100, 2), std::vector<float>(100, 1)};
  EXPECT_FALSE(many.judge(Metric::kDiff4, 1, Verdict::kUpstream).passed);
  many.found[5] = 0;
  EXPECT_TRUE(many.judge(Metric::kDiff4, 0, Verdict::kUpstream).passed);
}

TEST(CaseMetrics, Bits) {
  const auto passes = [](uint32_t found, uint32_t expected, bool nan_payloads) {
    const Data<uint32_t> data{{found}, {expected}};
    return judge(data.results(nan_payloads), {{Metric::kBits, 0}}, Verdict::kStrict).front().passed;
  };
  EXPECT_TRUE(passes(0x3F800000, 0x3F800000, true));
  EXPECT_FALSE(passes(0x80000000, 0, false));
  EXPECT_TRUE(passes(0x7FC00001, 0xFFC00002, false));
  EXPECT_FALSE(passes(0x7FC00001, 0x7FC00002, true));
}

// Thresholds of a file do not admit wrong integers.
TEST(CaseMetrics, IntegersAreExact) {
  const Data<int32_t> data{{1000000, 5}, {1000001, 5}};
  EXPECT_FALSE(judge(data.results(), {{Metric::kDiff1, 0.1}}, Verdict::kStrict).back().passed);
  EXPECT_TRUE(data.judge(Metric::kDiff1, 0.1, Verdict::kUpstream).passed);
}

// As the evaluator of MLU-OPS: both parts must pass.
TEST(CaseMetrics, PartsOfComplexNumbersApart) {
  const Floats data{{1, 10, 2, 20}, {1, 10, 2, 10}};
  Results results = data.results();
  results.dtype = MLUOP_DTYPE_COMPLEX_FLOAT;
  results.count = 2;
  const auto judge_with = [&](const Criterion& criterion) {
    return judge(results, {criterion}, Verdict::kStrict).front();
  };
  EXPECT_EQ(judge_with({Metric::kDiff1, 0.4}).value, "0, 0.5");
  EXPECT_FALSE(judge_with({Metric::kDiff1, 0.4}).passed);
  EXPECT_TRUE(judge_with({Metric::kDiff1, 0, 0.5}).passed);
  EXPECT_EQ(judge_with({Metric::kBits, 0}).value, "equal, differ");
  for (const Dims& dims : {Dims{2}, Dims{2, 1, 1, 1, 1, 1, 1, 1}}) {
    const ErrorReport report = errors_of(results, dims, {"signal"}, 1e-3, 5);
    EXPECT_EQ(report.total, 4);
    ASSERT_EQ(report.worst.size(), 1U);
    EXPECT_EQ(report.worst[0].position.front(), 1);
    EXPECT_EQ(report.worst[0].position.back(), 1);
    EXPECT_EQ(report.worst[0].expected, 10);
  }
}

TEST(CaseErrors, WorstElementsFirst) {
  Floats data{std::vector<float>(24, 1), std::vector<float>(24, 1)};
  data.found[5] = 1.5F;
  data.found[7] = kNaN;
  data.found[20] = -3;
  const ErrorReport report = errors_of(data.results(), {2, 3, 4}, {}, 1e-3, 2);
  EXPECT_EQ(report.wrong, 3);
  ASSERT_EQ(report.worst.size(), 2U);
  EXPECT_EQ(report.worst[0].position, (Dims{0, 1, 3}));
  EXPECT_EQ(report.worst[0].absolute, HUGE_VAL);
  EXPECT_EQ(report.worst[1].position, (Dims{1, 2, 0}));
  EXPECT_EQ(report.worst[1].absolute, 4);
  EXPECT_EQ(report.worst[1].relative, 4);
}

// An infinity or a NaN on one side only is an infinite error, on either side.
TEST(CaseErrors, OneInfinity) {
  const Floats data{{kInf, 1, kInf, -kInf, 1}, {kInf, kInf, 1, kInf, kNaN}};
  const ErrorReport report = errors_of(data.results(), {5}, {}, 1e-3, 5);
  ASSERT_EQ(report.worst.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.worst[i].position, Dims{static_cast<int64_t>(i) + 1});
    EXPECT_EQ(report.worst[i].relative, HUGE_VAL);
  }
}

// Errors below the threshold everywhere, whose sum exceeds it, are all shown.
TEST(CaseErrors, SmallErrorsEverywhere) {
  const Floats data{std::vector<float>(50, 1.001F), std::vector<float>(50, 1)};
  EXPECT_EQ(errors_of(data.results(), {50}, {}, 0.01, 1).wrong, 50);
}

}  // namespace
}  // namespace mluop::cases

// write_linearity(): the ratios and the mark for non-linear cases.
#include "perf/support/linearity.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace mluop::perf {
namespace {

constexpr double kPeak = 1e9;
const std::map<int, double> kPeaks{{2, kPeak}};

Result result(const Size& size, double seconds, double stream_seconds, int64_t bytes, int64_t ops = 0) {
  Result measured;
  measured.op = "some_operator";
  measured.name = "some_case";
  measured.dtype = "float";
  measured.algorithm = "native";
  measured.size = size;
  measured.threads = 2;
  measured.work = {bytes / 2, bytes - bytes / 2, ops};
  measured.latency = {seconds};
  measured.stream_bound_ordinary = {stream_seconds};
  measured.stream_bound_non_temporal = {2 * stream_seconds};
  return measured;
}

const Size kHalf{"1/2", 0.5}, kOne{"1", 1}, kTwo{"2", 2};

std::string table(const std::vector<Result>& results) {
  std::ostringstream out;
  write_linearity(out, results, kPeaks);
  return out.str();
}

// The line of the only case.
std::string line(const std::vector<Result>& results) {
  std::istringstream lines(table(results));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("  some_case")) return line;
  }
  return {};
}

TEST(PerfLinearity, ProportionalToTheBytes) {
  EXPECT_EQ(line({result(kHalf, 0.5, 0.25, 500), result(kOne, 1, 0.5, 1000), result(kTwo, 2, 1, 2000)}),
            "  some_case float native t2 1.00 (1.00)  1.00 (1.00) ");
}

// Independent of the order of the sizes.
TEST(PerfLinearity, FixedCosts) {
  EXPECT_EQ(line({result(kTwo, 1.6, 1, 2000), result(kOne, 1, 0.5, 1000), result(kHalf, 0.7, 0.25, 500)}),
            "  some_case float native t2 1.40 (1.40)! 0.80 (0.80)!");
}

// Linear if the latency is proportional to the stream bound or to the bytes.
TEST(PerfLinearity, OutOfACache) {
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 3, 1.5, 2000)}),
            "  some_case float native t2 1.50 (1.00) ");
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 2, 0.5, 2000)}),
            "  some_case float native t2 1.00 (2.00) ");
}

// The stream bound grows by 5, the latency by 3, the bytes by 2: memory-bound for a part of the time.
TEST(PerfLinearity, BetweenBytesAndStreamBound) {
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 3, 2.5, 2000)}),
            "  some_case float native t2 1.50 (0.60) ");
}

// The compute bound of 0.6 s is larger than the stream bound.
TEST(PerfLinearity, ProportionalToTheOperations) {
  constexpr auto kOps = static_cast<int64_t>(kPeak * 0.6);
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000, kOps), result(kTwo, 2, 0.5, 1200, 2 * kOps)}),
            "  some_case float native t2 1.00 (2.00) ");
}

TEST(PerfLinearity, Tolerance) {
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 2.28, 1, 2000)}).back(), ' ');
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 2.32, 1, 2000)}).back(), '!');
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 1.72, 1, 2000)}).back(), ' ');
  EXPECT_EQ(line({result(kOne, 1, 0.5, 1000), result(kTwo, 1.68, 1, 2000)}).back(), '!');
}

// Compares verified results of the same settings only.
TEST(PerfLinearity, NothingToCompare) {
  Result cold = result(kTwo, 2, 1, 2000);
  cold.cache = Cache::kCold;
  EXPECT_EQ(table({result(kOne, 1, 0.5, 1000), cold}), "");
  Result failed = result(kTwo, 2, 1, 2000);
  failed.problem = "wrong";
  EXPECT_EQ(table({result(kOne, 1, 0.5, 1000), failed}), "");
  EXPECT_EQ(table({result(kHalf, 1, 0.5, 1000), result(kTwo, 2, 1, 2000)}), "");
  EXPECT_EQ(table({}), "");
}

TEST(PerfLinearity, ColumnsInOrderOfSize) {
  EXPECT_NE(table({result(kTwo, 2, 1, 2000), result(kOne, 1, 0.5, 1000), result(kHalf, 0.5, 0.25, 500)})
                .find("1/2            2 \n"),
            std::string::npos);
}

}  // namespace
}  // namespace mluop::perf

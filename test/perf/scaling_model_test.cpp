// The model of more cores.
#include "perf/support/scaling_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

namespace mluop::perf {
namespace {

mluOpOmpTaskStatistics_t task(double duration_us, double longest_chunk_us = 0) {
  mluOpOmpTaskStatistics_t statistics{};
  statistics.duration_us = duration_us;
  statistics.longest_chunk_us = longest_chunk_us;
  return statistics;
}

// 30 us divided over three tasks, on four cores: the longest task takes 20 us. 10 us are outside of launches.
TEST(PerfScalingModel, DividedBefore) {
  const ModelledLatency latency = model_latency({40, {{task(6), task(20), task(4)}}}, 4);
  EXPECT_DOUBLE_EQ(latency.work, 7.5);
  EXPECT_DOUBLE_EQ(latency.few_tasks, 2.5);
  EXPECT_DOUBLE_EQ(latency.imbalance, 10);
  EXPECT_DOUBLE_EQ(latency.serial, 10);
  EXPECT_DOUBLE_EQ(latency.total(), 30);
}

// One thread takes all chunks of a launch of four tasks.
TEST(PerfScalingModel, Chunks) {
  const LaunchTasks short_chunks{task(40, 4), task(0), task(0), task(0)}, one_chunk{task(40, 40), task(0)};
  EXPECT_DOUBLE_EQ(model_latency({40, {short_chunks}}, 4).total(), 10 + 0.75 * 4);
  EXPECT_DOUBLE_EQ(model_latency({40, {one_chunk}}, 2).total(), 40);
}

TEST(PerfScalingModel, Table) {
  const ModelledLatency latency{.work = 400, .few_tasks = 250, .imbalance = 200, .serial = 50, .memory = 100};
  std::ostringstream out;
  write_scaling_table(out, {{"an_operator", "29x2047x999_m2033", "float", 64, 12.34, latency, 345.6, ""},
                            {"other", "case", "half", 4, 0, {}, 0, "the problem"}});
  EXPECT_THAT(out.str(), ::testing::StartsWith("an_operator\n"
                                               "  case              dtype cores  latency speed-up  work tasks"
                                               " balance serial memory   GB/s\n"
                                               "  29x2047x999_m2033 float    64    1.000     12.3   40%   25%"
                                               "     20%     5%    10%  345.6\n\n"
                                               "other\n"));
  EXPECT_THAT(out.str(), ::testing::HasSubstr("  case              half      4  FAILED\n    the problem\n\n"));
}

TEST(PerfScalingModel, ProblemOfACase) {
  const CaseSpec spec{{"op", "case", "float", "native"},
                      [](double) -> std::unique_ptr<Case> { throw std::runtime_error("out of range"); }};
  std::ostringstream progress;
  const int counts[] = {1, 4};
  const auto rows = scaling_rows(spec, 1, counts, 0, progress);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].problem, "out of range");
}

}  // namespace
}  // namespace mluop::perf

// The figures of tasks from statistics, and their table.
#include "perf/support/task_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

namespace mluop::perf {
namespace {

using ::testing::HasSubstr;

mluOpOmpTaskStatistics_t task(int64_t items, int64_t loaded, int64_t stored) {
  mluOpOmpTaskStatistics_t statistics{};
  statistics.item_count = items;
  statistics.bytes_loaded = loaded;
  statistics.bytes_stored = stored;
  return statistics;
}

// 300 bytes in balance, 100 bytes with a balance of 1/2; a launch without traffic has no weight. An atomic reads
// and writes its element.
TEST(PerfTaskTable, LaunchesAreWeightedByTheirTraffic) {
  std::vector<LaunchTasks> launches{
      {task(5, 150, 0), task(5, 50, 84)}, {task(2, 50, 50), task(0, 0, 0)}, {task(9, 0, 0), task(0, 0, 0)}};
  launches[0][1].atomic_elements = 2;
  const TaskFigures figures = task_figures(launches, {100, 200, 0}, 1024);
  EXPECT_DOUBLE_EQ(figures.item_balance, (300 * 1.0 + 100 * 0.5) / 400);
  EXPECT_DOUBLE_EQ(figures.byte_balance, (300 * 1.0 + 100 * 0.5) / 400);
  EXPECT_DOUBLE_EQ(figures.compulsory_share, 300.0 / 400);
}

// The native algorithm counts no traffic: 3 us in balance, 1 us with a balance of 1/2.
TEST(PerfTaskTable, NativeLaunchesAreWeightedByTheirTime) {
  std::vector<LaunchTasks> launches{{task(5, 0, 0), task(5, 0, 0)}, {task(2, 0, 0), task(0, 0, 0)}};
  launches[0][0].duration_us = 1;
  launches[0][1].duration_us = 2;
  launches[1][0].duration_us = 1;
  const TaskFigures figures = task_figures(launches, {100, 200, 0}, 1024);
  EXPECT_DOUBLE_EQ(figures.item_balance, (3 * 1.0 + 1 * 0.5) / 4);
  EXPECT_TRUE(std::isnan(figures.byte_balance));
}

TEST(PerfTaskTable, TilesNramAndAtomics) {
  LaunchTasks tasks{task(3, 100, 0), task(1, 20, 0)};
  tasks[0].tiles = 2;
  tasks[1].tiles = 3;
  tasks[0].nram_bytes = 512;
  tasks[1].nram_bytes = 256;
  tasks[0].atomics = 6;
  tasks[1].atomics = 2;
  tasks[1].contended = 1;
  const TaskFigures figures = task_figures(std::vector<LaunchTasks>{tasks, tasks}, {1, 1, 0}, 1024);
  EXPECT_DOUBLE_EQ(figures.item_balance, 2.0 / 3);
  EXPECT_DOUBLE_EQ(figures.byte_balance, 60.0 / 100);
  EXPECT_EQ(figures.tiles, 10);
  EXPECT_DOUBLE_EQ(figures.nram_share, 0.5);
  EXPECT_EQ(figures.atomics, 16);
  EXPECT_DOUBLE_EQ(figures.contended_share, 1.0 / 8);
}

// Missing figures are dashes. The table has at most 100 columns.
TEST(PerfTaskTable, Table) {
  const TaskFigures figures{0.987, 0.5, 1'234'567, 0.9991, 1'234'567'890, 0.125, 0.955};
  const TaskFigures none = task_figures({}, {1, 1, 0}, 1024);
  std::ostringstream out;
  write_task_table(out, std::vector<TaskRow>{{"an_operator", "29x2047x999_m2033", "float", 16, figures, ""},
                                             {"an_operator", "other", "half", 64, none, ""},
                                             {"third_operator", "case", "half", 4, none, "the problem"}});
  EXPECT_THAT(out.str(),
              ::testing::StartsWith("an_operator\n"
                                    "  case              dtype tasks  items  bytes    tiles   NRAM    atomics"
                                    " contended compulsory\n"
                                    "  29x2047x999_m2033 float    16   0.99   0.50  1234567  99.9% 1234567890"
                                    "    12.50%      95.5%\n"
                                    "  other             half     64      -      -        0   0.0%          0"
                                    "         -          -\n\n"
                                    "third_operator\n"
                                    "  case              dtype tasks  items  bytes    tiles   NRAM    atomics"
                                    " contended compulsory\n"
                                    "  case              half      4  FAILED\n    the problem\n\n"));
}

TEST(PerfTaskTable, ProblemOfACase) {
  const CaseSpec spec{{"op", "case", "float", "device"},
                      [](double) -> std::unique_ptr<Case> { throw std::runtime_error("out of range"); }};
  std::ostringstream progress;
  const int counts[] = {1, 4};
  const auto rows = task_rows(spec, 1, counts, progress);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].problem, "out of range");
  EXPECT_THAT(progress.str(), HasSubstr("FAILED: out of range"));
}

}  // namespace
}  // namespace mluop::perf

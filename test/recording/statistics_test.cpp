// The statistics of launches and tasks, as the API reports them.
#include "recording/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/team_context.h"
#include "support/trace.h"
#include "team/launch.h"

namespace mluop::test {
namespace {

class RecordingStatistics : public ::testing::Test {
 protected:
  void run(mluOpHandle_t handle) const { require(OperatorCall(handle, made).run()); }

  cases::Case made =
      make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, {{"num_points", 4001}, {"num_channels", 6}});
};

TEST_F(RecordingStatistics, OffByDefault) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    EXPECT_TRUE(launches_of(handle).empty());
    run(handle);
    EXPECT_TRUE(launches_of(handle).empty());
  }
}

TEST_F(RecordingStatistics, CountTheLastCallOnly) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, 1));
    EXPECT_TRUE(launches_of(handle).empty());
    run(handle);
    const size_t launches = launches_of(handle).size();
    EXPECT_GT(launches, 0U);
    run(handle);
    EXPECT_EQ(launches_of(handle).size(), launches);
  }
}

TEST_F(RecordingStatistics, DisablingForgetsTheLastCall) {
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  run(handle);
  require(mluOpOmpSetStatistics(handle, 0));
  EXPECT_TRUE(launches_of(handle).empty());
  run(handle);
  EXPECT_TRUE(launches_of(handle).empty());
}

// A call that fails its checks launches nothing.
TEST_F(RecordingStatistics, FailedCallsHaveNoLaunches) {
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  run(handle);
  OperatorCall call(handle, made);
  call.parameters.set("num_points", 0);
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(launches_of(handle).empty());
}

// Times of a launch include those of its tasks; times begin with the call.
void expect_times(const Launch& launch) {
  constexpr double kRounding = 1e-3;
  EXPECT_GE(launch.start_us, 0);
  for (const auto& task : launch.tasks) {
    EXPECT_GE(task.duration_us, 0);
    EXPECT_GE(task.start_us, launch.start_us - kRounding);
    EXPECT_LE(task.start_us + task.duration_us, launch.start_us + launch.duration_us + kRounding);
  }
}

TEST_F(RecordingStatistics, LaunchesAndTasksOfACall) {
  const ScopedThreads threads(5);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, 1));
    run(handle);
    double end_us = 0;
    for (const Launch& launch : launches_of(handle)) {
      SCOPED_TRACE(launch.kernel);
      EXPECT_GE(launch.task_dim, 1);
      EXPECT_LE(launch.task_dim, 5);
      EXPECT_LE(launch.threads, launch.task_dim);
      EXPECT_GE(launch.start_us, end_us);
      end_us = launch.start_us + launch.duration_us;
      for (const auto& task : launch.tasks) {
        EXPECT_GE(task.thread, 0);
        EXPECT_LT(task.thread, launch.threads);
      }
      expect_times(launch);
    }
  }
}

struct Work {
  int64_t tile_words;
};

// Takes a tile, and counts its work items as tiles.
void take_tile(const Work& work, int64_t begin, int64_t end, Task& task) {
  task.nram.take<int32_t>("tile", {work.tile_words});
  task.statistics->tiles += end - begin;
}

TEST_F(RecordingStatistics, TasksOfALaunch) {
  TeamContext context(4);
  context.statistics.enable(true);
  context.statistics.begin_call();
  // Items for three of five tasks; 400 bytes of NRAM take whole cache lines.
  launch(context, "take_tile", 5, Evenly{3}, take_tile, {100});
  launch(context, "again", 2, Evenly{101}, take_tile, {16});
  const auto& launches = context.statistics.launches();
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_STREQ(launches[0].launch.kernel, "take_tile");
  EXPECT_STREQ(launches[1].launch.kernel, "again");
  EXPECT_EQ(launches[0].launch.task_dim, 5);
  EXPECT_GE(launches[0].launch.threads, 1);
  EXPECT_LE(launches[0].launch.threads, 4);
  ASSERT_EQ(launches[0].tasks.size(), 5U);
  ASSERT_EQ(launches[1].tasks.size(), 2U);
  for (int id = 0; id < 5; ++id) {
    SCOPED_TRACE(id);
    const TaskStatistics& task = launches[0].tasks[static_cast<size_t>(id)];
    const bool has_item = id < 3;
    EXPECT_EQ(task.first_item, std::min(id, 3));
    EXPECT_EQ(task.item_count, has_item ? 1 : 0);
    EXPECT_EQ(task.tiles, has_item ? 1 : 0);
    EXPECT_EQ(task.nram_bytes, has_item ? 448 : 0);
    // A thread runs every threads-th task.
    EXPECT_EQ(task.thread, id % launches[0].launch.threads);
  }
  EXPECT_EQ(launches[1].tasks[0].item_count, 51);
  EXPECT_EQ(launches[1].tasks[1].first_item, 51);
  EXPECT_EQ(launches[1].tasks[1].item_count, 50);
  EXPECT_EQ(launches[1].tasks[1].nram_bytes, 64);
}

// The chunks of a task add up.
TEST_F(RecordingStatistics, TasksOfADynamicLaunch) {
  TeamContext context(3);
  context.statistics.enable(true);
  context.statistics.begin_call();
  launch_dynamic(context, "take_tile", 3, 40, Evenly{1000}, take_tile, {100});
  ASSERT_EQ(context.statistics.launches().size(), 1U);
  int64_t items = 0, tiles = 0;
  for (const TaskStatistics& task : context.statistics.launches()[0].tasks) {
    items += task.item_count;
    tiles += task.tiles;
    EXPECT_EQ(task.item_count % 25, 0);
    EXPECT_EQ(task.nram_bytes, task.item_count == 0 ? 0 : 448);
  }
  EXPECT_EQ(items, 1000);
  EXPECT_EQ(tiles, 1000);
}

void wait_a_millisecond(const Work&, int64_t, int64_t, Task&) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST_F(RecordingStatistics, DurationOfTasks) {
  TeamContext context(2);
  context.statistics.enable(true);
  context.statistics.begin_call();
  launch(context, "wait", 3, Evenly{3}, wait_a_millisecond, {0});
  ASSERT_EQ(context.statistics.launches().size(), 1U);
  for (const TaskStatistics& task : context.statistics.launches()[0].tasks) EXPECT_GE(task.duration_us, 1000);
}

// A context without statistics gives each task a record that is discarded.
TEST_F(RecordingStatistics, DisabledLaunchesRecordNothing) {
  TeamContext context(2);
  launch(context, "take_tile", 4, Evenly{9}, take_tile, {16});
  EXPECT_TRUE(context.statistics.launches().empty());
}

TEST_F(RecordingStatistics, HandlesAreIndependent) {
  const Handle recorded, other;
  require(mluOpOmpSetStatistics(recorded, 1));
  run(recorded);
  const size_t launches = launches_of(recorded).size();
  run(other);
  EXPECT_EQ(launches_of(recorded).size(), launches);
  EXPECT_TRUE(launches_of(other).empty());
}

}  // namespace
}  // namespace mluop::test

// The statistics of launches and tasks, as the API reports them.
#include "recording/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "ops/voxel_pooling_forward/call.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/team_context.h"
#include "support/trace.h"
#include "team/launch.h"

namespace mluop::test {
namespace {

VoxelPoolingInputs<float> some_inputs() {
  auto random = seeded_random();
  return random_voxel_pooling<float>({2, 4001, 6, 5, 4, 1}, random);
}

void run(mluOpHandle_t handle, const VoxelPoolingInputs<float>& inputs) {
  require(VoxelPoolingCall(handle, inputs).run());
}

TEST(RecordingStatistics, OffByDefault) {
  const auto inputs = some_inputs();
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    EXPECT_TRUE(launches_of(handle).empty());
    run(handle, inputs);
    EXPECT_TRUE(launches_of(handle).empty());
  }
}

TEST(RecordingStatistics, CountTheLastCallOnly) {
  const auto inputs = some_inputs();
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, 1));
    EXPECT_TRUE(launches_of(handle).empty());
    run(handle, inputs);
    const size_t launches = launches_of(handle).size();
    EXPECT_GT(launches, 0U);
    run(handle, inputs);
    EXPECT_EQ(launches_of(handle).size(), launches);
  }
}

TEST(RecordingStatistics, DisablingForgetsTheLastCall) {
  const auto inputs = some_inputs();
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  run(handle, inputs);
  require(mluOpOmpSetStatistics(handle, 0));
  EXPECT_TRUE(launches_of(handle).empty());
  run(handle, inputs);
  EXPECT_TRUE(launches_of(handle).empty());
}

// A call that fails its checks launches nothing.
TEST(RecordingStatistics, FailedCallsHaveNoLaunches) {
  const auto inputs = some_inputs();
  const Handle handle;
  require(mluOpOmpSetStatistics(handle, 1));
  run(handle, inputs);
  VoxelPoolingCall call(handle, inputs);
  call.sizes.num_points = 0;
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

TEST(RecordingStatistics, LaunchesAndTasksOfACall) {
  const auto inputs = some_inputs();
  const ScopedThreads threads(5);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, 1));
    run(handle, inputs);
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

TEST(RecordingStatistics, TasksOfALaunch) {
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
TEST(RecordingStatistics, TasksOfADynamicLaunch) {
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

TEST(RecordingStatistics, DurationOfTasks) {
  TeamContext context(2);
  context.statistics.enable(true);
  context.statistics.begin_call();
  launch(context, "wait", 3, Evenly{3}, wait_a_millisecond, {0});
  ASSERT_EQ(context.statistics.launches().size(), 1U);
  for (const TaskStatistics& task : context.statistics.launches()[0].tasks) EXPECT_GE(task.duration_us, 1000);
}

// A context without statistics gives each task a record that is discarded.
TEST(RecordingStatistics, DisabledLaunchesRecordNothing) {
  TeamContext context(2);
  launch(context, "take_tile", 4, Evenly{9}, take_tile, {16});
  EXPECT_TRUE(context.statistics.launches().empty());
}

TEST(RecordingStatistics, HandlesAreIndependent) {
  const auto inputs = some_inputs();
  const Handle recorded, other;
  require(mluOpOmpSetStatistics(recorded, 1));
  run(recorded, inputs);
  const size_t launches = launches_of(recorded).size();
  run(other, inputs);
  EXPECT_EQ(launches_of(recorded).size(), launches);
  EXPECT_TRUE(launches_of(other).empty());
}

}  // namespace
}  // namespace mluop::test

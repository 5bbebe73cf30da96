// The statistics of launches and tasks, as the API reports them.
#include "recording/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/team_context.h"
#include "support/trace.h"
#include "team/launch.h"

namespace mluop::test {
namespace {

cases::Case pooling() {
  return make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT, {{"num_points", 4001}, {"num_channels", 6}});
}

// A handle has the launches of its last call, if its statistics are enabled.
TEST(RecordingStatistics, LastCallOfAHandle) {
  const cases::Case made = pooling();
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm), other(algorithm);
    const auto count_after = [&](const Handle& caller) {
      require(OperatorCall(caller, made).run());
      return launches_of(handle).size();
    };
    EXPECT_EQ(launches_of(handle).size(), 0U);
    EXPECT_EQ(count_after(handle), 0U);
    require(mluOpOmpSetStatistics(handle, 1));
    EXPECT_EQ(launches_of(handle).size(), 0U);
    const size_t count = count_after(handle);
    EXPECT_GT(count, 0U);
    EXPECT_EQ(count_after(handle), count);
    EXPECT_EQ(count_after(other), count);
    EXPECT_EQ(launches_of(other).size(), 0U);
    // A call whose checks fail launches no kernel.
    OperatorCall call(handle, made);
    call.parameters.set("num_points", 0);
    EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(launches_of(handle).size(), 0U);
    EXPECT_EQ(count_after(handle), count);
    require(mluOpOmpSetStatistics(handle, 0));
    EXPECT_EQ(launches_of(handle).size(), 0U);
    EXPECT_EQ(count_after(handle), 0U);
  }
}

// Times of a launch include the times of its tasks; times start at the beginning of the call.
TEST(RecordingStatistics, LaunchesAndTasksOfACall) {
  constexpr double kRounding = 1e-3;
  const ScopedThreads threads(5);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, 1));
    require(OperatorCall(handle, pooling()).run());
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
        EXPECT_GE(task.duration_us, 0);
        EXPECT_GE(task.start_us, launch.start_us - kRounding);
        EXPECT_LE(task.start_us + task.duration_us, end_us + kRounding);
      }
    }
  }
}

// Takes a tile of `tile_words` words, and counts its work items as tiles.
void take_tile(const int64_t& tile_words, int64_t begin, int64_t end, Task& task) {
  task.nram.take<int32_t>("tile", {tile_words});
  task.statistics->tiles += end - begin;
}

void wait_a_millisecond(const int64_t&, int64_t, int64_t, Task&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(RecordingStatistics, TasksOfALaunch) {
  TeamContext context(4);
  launch(context, "not recorded", 4, Evenly{9}, take_tile, 16);
  EXPECT_TRUE(context.statistics.launches().empty());
  context.statistics.enable(true);
  context.statistics.begin_call();
  // Three of five tasks have work items; 400 bytes of NRAM take whole cache lines.
  launch(context, "take_tile", 5, Evenly{3}, take_tile, 100);
  launch(context, "again", 2, Evenly{101}, take_tile, 16);
  launch(context, "wait", 3, Evenly{3}, wait_a_millisecond, 0);
  const auto& launches = context.statistics.launches();
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_STREQ(launches[0].launch.kernel, "take_tile");
  EXPECT_STREQ(launches[1].launch.kernel, "again");
  EXPECT_EQ(launches[0].launch.task_dim, 5);
  EXPECT_GE(launches[0].launch.threads, 1);
  EXPECT_LE(launches[0].launch.threads, 4);
  ASSERT_EQ(launches[0].tasks.size(), 5U);
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
  ASSERT_EQ(launches[1].tasks.size(), 2U);
  EXPECT_EQ(launches[1].tasks[0].item_count, 51);
  EXPECT_EQ(launches[1].tasks[1].first_item, 51);
  EXPECT_EQ(launches[1].tasks[1].item_count, 50);
  EXPECT_EQ(launches[1].tasks[1].nram_bytes, 64);
  for (const TaskStatistics& task : launches[2].tasks) EXPECT_GE(task.duration_us, 1000);
}

// The chunks of a task add up.
TEST(RecordingStatistics, TasksOfADynamicLaunch) {
  TeamContext context(3);
  context.statistics.enable(true);
  launch_dynamic(context, "take_tile", 3, 40, Evenly{1000}, take_tile, 100);
  ASSERT_EQ(context.statistics.launches().size(), 1U);
  int64_t items = 0, tiles = 0;
  for (const TaskStatistics& task : context.statistics.launches()[0].tasks) {
    items += task.item_count;
    tiles += task.tiles;
    EXPECT_EQ(task.item_count % 25, 0);
    EXPECT_EQ(task.nram_bytes, task.item_count == 0 ? 0 : 448);
    EXPECT_EQ(task.longest_chunk_us > 0, task.item_count > 0);
    EXPECT_LE(task.longest_chunk_us, task.duration_us);
  }
  EXPECT_EQ(items, 1000);
  EXPECT_EQ(tiles, 1000);
}

}  // namespace
}  // namespace mluop::test

// The device algorithm of mluOpDynamicScatterBackward: split, tiles, traffic, atomics and results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/call.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/lidar_map.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using TaskStatistics = mluOpOmpTaskStatistics_t;

// The launches of a call, in their order.
const std::vector<std::string> kLaunches = {"check_indices", "fill", "fill", "traceback", "scatter"};
constexpr int kTraceback = 3, kScatter = 4;

bool equal_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Every point has a voxel.
DynamicScatterInputs mapped_inputs(const DynamicScatterSizes& sizes, std::mt19937& random) {
  DynamicScatterInputs inputs{sizes, {}, {}, {}, lidar_map(sizes.points, sizes.voxels, 64), {}};
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  for (int64_t i = 0; i < sizes.feats_count(); ++i) inputs.feats.push_back(value(random));
  for (int64_t i = 0; i < sizes.voxel_feats_count(); ++i) inputs.grad_voxel_feats.push_back(value(random));
  scatter_forward(inputs);
  return inputs;
}

struct ExpectedTask {
  int task;
  int64_t first_point, points, tiles;
  int64_t first_voxel, voxels;
};

void expect_task(mluOpHandle_t handle, const ExpectedTask& expected) {
  SCOPED_TRACE("task " + std::to_string(expected.task));
  const TaskStatistics traceback = task_statistics(handle, kTraceback, expected.task);
  EXPECT_EQ(traceback.first_item, expected.first_point);
  EXPECT_EQ(traceback.item_count, expected.points);
  EXPECT_EQ(traceback.tiles, expected.tiles);
  EXPECT_EQ(traceback.bytes_loaded, expected.points * (4 + 512 + 512));
  EXPECT_EQ(traceback.bytes_stored, 0);
  EXPECT_EQ(traceback.atomics, expected.points);
  EXPECT_EQ(traceback.atomic_elements, expected.points * 128);
  const TaskStatistics scatter = task_statistics(handle, kScatter, expected.task);
  EXPECT_EQ(scatter.first_item, expected.first_voxel);
  EXPECT_EQ(scatter.item_count, expected.voxels);
  EXPECT_EQ(scatter.bytes_loaded, expected.voxels * 1024);
  // Each channel of each voxel has a point.
  EXPECT_EQ(scatter.bytes_stored, expected.voxels * 512);
  EXPECT_EQ(scatter.atomics, 0);
}

// The bytes of grad_feats and of the workspace that are filled before.
int64_t stored_by_fills(mluOpHandle_t handle, int task_dim) {
  int64_t bytes = 0;
  for (int launch = 0; launch < static_cast<int>(kLaunches.size()); ++launch) {
    if (kLaunches[static_cast<size_t>(launch)] != "fill") continue;
    for (int task = 0; task < task_dim; ++task) bytes += task_statistics(handle, launch, task).bytes_stored;
  }
  return bytes;
}

// The example of the network: 255 points a tile in an NRAM of 640 KiB.
TEST(OpsDynamicScatterBackwardDevice, SplitTilesAndTraffic) {
  auto random = seeded_random();
  const auto inputs = mapped_inputs({17176, 13743, 128, 13743}, random);
  const auto expected = dynamic_scatter_reference(inputs);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "640");
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  const struct {
    int task_dim;
    std::vector<ExpectedTask> tasks;
  } cases[] = {
      {1, {{0, 0, 17176, 68, 0, 13743}}},
      {4, {{0, 0, 4294, 17, 0, 3436}, {1, 4294, 4294, 17, 3436, 3436}, {3, 12882, 4294, 17, 10308, 3435}}},
      {16, {{0, 0, 1074, 5, 0, 859}, {1, 1074, 1074, 5, 859, 859}, {15, 16103, 1073, 5, 12885, 858}}},
  };
  for (const auto& [task_dim, tasks] : cases) {
    SCOPED_TRACE(task_dim);
    const ScopedThreads threads(task_dim);
    const DynamicScatterCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(equal_bytes(call.output(), expected));
    expect_launches(handle, kLaunches, task_dim);
    for (const ExpectedTask& task : tasks) expect_task(handle, task);
    EXPECT_EQ(stored_by_fills(handle, task_dim), (17176 + 13743) * 512);
  }
  EXPECT_EQ(task_statistics(handle, kTraceback, 0).nram_bytes, 654336) << "255 x 2564 + 512, in cache lines";
}

// Points without voxel load their map entry and features, and update nothing.
TEST(OpsDynamicScatterBackwardDevice, PointsWithoutVoxel) {
  auto random = seeded_random();
  const auto inputs = random_dynamic_scatter({1000, 300, 20, 280}, random);
  const auto mapped =
      static_cast<int64_t>(1000 - std::count(inputs.point2voxel_map.begin(), inputs.point2voxel_map.end(), -1));
  const ScopedThreads threads(1);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  const DynamicScatterCall call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(equal_bytes(call.output(), dynamic_scatter_reference(inputs)));
  const TaskStatistics traceback = task_statistics(handle, kTraceback, 0);
  EXPECT_EQ(traceback.bytes_loaded, 1000 * (4 + 80) + mapped * 80);
  EXPECT_EQ(traceback.atomics, mapped);
  EXPECT_EQ(traceback.atomic_elements, mapped * 20);
}

// Where one point does not fit NRAM, a tile holds some of its channels: (1024 - 4) / 24 = 42.
TEST(OpsDynamicScatterBackwardDevice, PartsOfChannels) {
  auto random = seeded_random();
  const auto inputs = mapped_inputs({60, 25, 100, 25}, random);
  const ScopedThreads threads(1);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  const DynamicScatterCall call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(equal_bytes(call.output(), dynamic_scatter_reference(inputs)));
  const TaskStatistics traceback = task_statistics(handle, kTraceback, 0);
  EXPECT_EQ(traceback.tiles, 60 * 3);
  EXPECT_EQ(traceback.bytes_loaded, 60 * (4 + 400 + 400));
  EXPECT_EQ(traceback.atomics, 60 * 3);
  EXPECT_EQ(traceback.atomic_elements, 60 * 100);
}

// Tasks without points or voxels remain in the team.
TEST(OpsDynamicScatterBackwardDevice, FewerPointsThanTasks) {
  auto random = seeded_random();
  const auto inputs = mapped_inputs({5, 3, 8, 3}, random);
  const ScopedThreads threads(16);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  const DynamicScatterCall call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  expect_launches(handle, kLaunches, 16);
  EXPECT_EQ(task_statistics(handle, kTraceback, 4).item_count, 1);
  EXPECT_EQ(task_statistics(handle, kTraceback, 5).item_count, 0);
  EXPECT_EQ(task_statistics(handle, kScatter, 3).item_count, 0);
}

// reduce_from [N, C], and the bytes that alignment may skip.
TEST(OpsDynamicScatterBackwardDevice, WorkspaceSize) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  EXPECT_EQ(dynamic_scatter_workspace(handle, 17176, 128), size_t{17176} * 128 * 4 + 63);
  EXPECT_EQ(dynamic_scatter_workspace(handle, 1, 1), 64U + 63U);
  EXPECT_EQ(dynamic_scatter_workspace(handle, 0, 128), 0U);
}

TEST(OpsDynamicScatterBackwardDevice, TaskDimsAndNramSizes) {
  auto random = seeded_random();
  for (const DynamicScatterSizes& sizes :
       {DynamicScatterSizes{3001, 900, 19, 880}, {5000, 1, 5, 1}, {2000, 1500, 1, 1500}, {70, 30, 1000, 30}}) {
    const auto inputs = random_dynamic_scatter(sizes, random);
    const auto expected = dynamic_scatter_reference(inputs);
    for (const int task_dim : {1, 2, 3, 16, 64}) {
      for (const char* kib : {"16", "384", "1024"}) {
        SCOPED_TRACE("taskDim " + std::to_string(task_dim) + ", NRAM " + kib);
        const ScopedThreads threads(task_dim);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
        const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
        const DynamicScatterCall call(handle, inputs, Placement::kAgainstEnd);
        ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_TRUE(equal_bytes(call.output(), expected));
        EXPECT_TRUE(call.intact());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test

// The device algorithm of mluOpDynamicPointToVoxelBackward: split, tiles, traffic, atomics and results.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/dynamic_scatter_backward/scatter_case.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/recorded_run.h"

namespace mluop::test {
namespace {

using cases::Case;
using TaskStatistics = mluOpOmpTaskStatistics_t;

// The launches of a call, in their order.
const std::vector<std::string> kKernels = {"check_indices", "fill", "fill", "traceback", "scatter"};
constexpr size_t kTraceback = 3, kScatter = 4;

std::vector<Launch> run_on_device(const Oracle& oracle, int task_dim) {
  const ScopedThreads threads(task_dim);
  std::vector<Launch> launches = run_recorded(oracle, MLUOP_OMP_ALGORITHM_DEVICE);
  std::vector<std::string> kernels;
  for (const Launch& launch : launches) {
    kernels.emplace_back(launch.kernel);
    EXPECT_EQ(launch.task_dim, task_dim) << launch.kernel;
  }
  EXPECT_EQ(kernels, kKernels);
  return launches;
}

struct ExpectedTask {
  size_t task;
  int64_t first_point, points, tiles;
  int64_t first_voxel, voxels;
};

void expect_task(const std::vector<Launch>& launches, const ExpectedTask& expected) {
  SCOPED_TRACE("task " + std::to_string(expected.task));
  const TaskStatistics& traceback = launches[kTraceback].tasks[expected.task];
  EXPECT_EQ(traceback.first_item, expected.first_point);
  EXPECT_EQ(traceback.item_count, expected.points);
  EXPECT_EQ(traceback.tiles, expected.tiles);
  EXPECT_EQ(traceback.bytes_loaded, expected.points * (4 + 512 + 512));
  EXPECT_EQ(traceback.bytes_stored, 0);
  EXPECT_EQ(traceback.atomics, expected.points);
  EXPECT_EQ(traceback.atomic_elements, expected.points * 128);
  const TaskStatistics& scatter = launches[kScatter].tasks[expected.task];
  EXPECT_EQ(scatter.first_item, expected.first_voxel);
  EXPECT_EQ(scatter.item_count, expected.voxels);
  EXPECT_EQ(scatter.bytes_loaded, expected.voxels * 1024);
  // Each channel of each voxel has a point.
  EXPECT_EQ(scatter.bytes_stored, expected.voxels * 512);
  EXPECT_EQ(scatter.atomics, 0);
}

// The example of the network: a tile has 255 points in an NRAM of 640 KiB.
TEST(OpsDynamicScatterBackwardDevice, SplitTilesAndTraffic) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const Case made = lidar_scatter({17176, 13743, 128, 13743}, 64, random);
  const Oracle oracle(made);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "640");
  const struct {
    int task_dim;
    std::vector<ExpectedTask> tasks;
  } examples[] = {
      {1, {{0, 0, 17176, 68, 0, 13743}}},
      {4, {{0, 0, 4294, 17, 0, 3436}, {1, 4294, 4294, 17, 3436, 3436}, {3, 12882, 4294, 17, 10308, 3435}}},
      {16, {{0, 0, 1074, 5, 0, 859}, {1, 1074, 1074, 5, 859, 859}, {15, 16103, 1073, 5, 12885, 858}}},
  };
  for (const auto& [task_dim, tasks] : examples) {
    SCOPED_TRACE(task_dim);
    const std::vector<Launch> launches = run_on_device(oracle, task_dim);
    for (const ExpectedTask& task : tasks) expect_task(launches, task);
    int64_t filled = 0;  // bytes of grad_feats and of the workspace
    for (const size_t fill : {1, 2}) {
      for (const TaskStatistics& task : launches[fill].tasks) filled += task.bytes_stored;
    }
    EXPECT_EQ(filled, (17176 + 13743) * 512);
    EXPECT_EQ(launches[kTraceback].tasks[0].nram_bytes, 654336) << "255 x 2564 + 512, in cache lines";
  }
}

// Points without a voxel load their map entry and features, and update no element.
TEST(OpsDynamicScatterBackwardDevice, PointsWithoutVoxel) {
  auto random = seeded_random();
  const Case made = random_scatter({1000, 300, 20, 280}, random);
  const std::vector<int32_t> map = int32s_of(made, "point2voxel_map");
  const int64_t mapped = 1000 - std::count(map.begin(), map.end(), -1);
  const TaskStatistics traceback = run_on_device(made, 1)[kTraceback].tasks[0];
  EXPECT_EQ(traceback.bytes_loaded, 1000 * (4 + 80) + mapped * 80);
  EXPECT_EQ(traceback.atomics, mapped);
  EXPECT_EQ(traceback.atomic_elements, mapped * 20);
}

// If one point does not fit NRAM, a tile holds some of its channels: (1024 - 4) / 24 = 42.
TEST(OpsDynamicScatterBackwardDevice, PartsOfChannels) {
  auto random = seeded_random();
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  const Case made = lidar_scatter({60, 25, 100, 25}, 64, random);
  const TaskStatistics traceback = run_on_device(made, 1)[kTraceback].tasks[0];
  EXPECT_EQ(traceback.tiles, 60 * 3);
  EXPECT_EQ(traceback.bytes_loaded, 60 * (4 + 400 + 400));
  EXPECT_EQ(traceback.atomics, 60 * 3);
  EXPECT_EQ(traceback.atomic_elements, 60 * 100);
}

// Tasks without points or voxels remain in the team.
TEST(OpsDynamicScatterBackwardDevice, FewerPointsThanTasks) {
  auto random = seeded_random();
  const Case made = lidar_scatter({5, 3, 8, 3}, 64, random);
  const std::vector<Launch> launches = run_on_device(made, 16);
  EXPECT_EQ(launches[kTraceback].tasks[4].item_count, 1);
  EXPECT_EQ(launches[kTraceback].tasks[5].item_count, 0);
  EXPECT_EQ(launches[kScatter].tasks[3].item_count, 0);
}

// The workspace holds reduce_from [N, C], and the bytes that alignment may skip.
TEST(OpsDynamicScatterBackwardDevice, WorkspaceSize) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  const auto workspace_size = [&](int64_t points, int64_t channels) {
    const std::vector<int32_t> map(static_cast<size_t>(points), -1);
    const std::vector<float> feats(map.size() * static_cast<size_t>(channels));
    return OperatorCall(handle, make_scatter({points, 0, channels, 0}, map, feats)).arguments.workspace_size;
  };
  EXPECT_EQ(workspace_size(17176, 128), size_t{17176} * 128 * 4 + 63);
  EXPECT_EQ(workspace_size(1, 1), 64U + 63U);
  EXPECT_EQ(workspace_size(0, 128), 0U);
}

}  // namespace
}  // namespace mluop::test

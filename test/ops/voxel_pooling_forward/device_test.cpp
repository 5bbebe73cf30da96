// The device algorithm of mluOpVoxelPoolingForward: split, tiles, traffic and atomics of each task, and its
// results.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/recorded_run.h"
#include "support/scenes.h"
#include "support/sized_case.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;
using TaskStatistics = mluOpOmpTaskStatistics_t;

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;
constexpr int64_t kWord = 4;

// The launch of the pooling kernel, after the launch that zeroes the sums.
Launch run_pooling(const Oracle& oracle, int task_dim) {
  const ScopedThreads threads(task_dim);
  const Launch launch = run_recorded(oracle, kDevice).at(1);
  EXPECT_STREQ(launch.kernel, "voxel_pooling_forward");
  EXPECT_EQ(launch.task_dim, task_dim);
  return launch;
}

// The statistics of a task by the formulas of the document, for an NRAM of nram_bytes. Points in range have a
// pos_memo.
TaskStatistics expected_task(const Case& made, const std::vector<int32_t>& memo, int task_dim, int id,
                             int64_t nram_bytes) {
  const cases::Tensor& features = made.inputs[1];
  const int64_t total = features.dims[0] * features.dims[1], channels = features.dims[2];
  const int64_t element = features.dtype == MLUOP_DTYPE_FLOAT ? 4 : 2;
  const int64_t tile_points = nram_bytes / kWord / 9, chunk_channels = 6 * tile_points * kWord / element;
  TaskStatistics task{};
  task.first_item = id * (total / task_dim) + std::min<int64_t>(id, total % task_dim);
  task.item_count = total / task_dim + (id < total % task_dim ? 1 : 0);
  int64_t pooled = 0;
  for (int64_t i = 0; i < task.item_count; ++i) {
    pooled += memo[static_cast<size_t>(task.first_item + i) * 3] >= 0 ? 1 : 0;
  }
  task.tiles = (task.item_count + tile_points - 1) / tile_points;
  task.bytes_loaded = task.item_count * 3 * kWord + pooled * channels * element;
  task.bytes_stored = task.item_count * 3 * kWord;
  task.atomics = pooled * ((channels + chunk_channels - 1) / chunk_channels);
  task.atomic_elements = pooled * channels;
  return task;
}

void expect_task(const TaskStatistics& found, const TaskStatistics& expected) {
  EXPECT_EQ(found.first_item, expected.first_item);
  EXPECT_EQ(found.item_count, expected.item_count);
  EXPECT_EQ(found.tiles, expected.tiles);
  EXPECT_EQ(found.bytes_loaded, expected.bytes_loaded);
  EXPECT_EQ(found.bytes_stored, expected.bytes_stored);
  EXPECT_EQ(found.atomics, expected.atomics);
  EXPECT_EQ(found.atomic_elements, expected.atomic_elements);
}

// batch_size, num_points, num_channels, num_voxel_x, num_voxel_y
void expect_formulas(mluOpDataType_t dtype, const std::vector<int64_t>& sizes, const std::vector<int>& task_dims,
                     const std::vector<int64_t>& nram_sizes) {
  const Case made = sized_case("voxel_pooling_forward", dtype, sizes);
  const Oracle oracle(made);
  const Handle handle;
  OperatorCall expected(handle, made);
  expected.expect();
  for (const int task_dim : task_dims) {
    for (const int64_t kib : nram_sizes) {
      SCOPED_TRACE(::testing::PrintToString(sizes) + ", tasks " + std::to_string(task_dim) + ", NRAM " +
                   std::to_string(kib) + " KiB");
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(kib).c_str());
      const Launch launch = run_pooling(oracle, task_dim);
      for (int id = 0; id < task_dim; ++id) {
        SCOPED_TRACE(id);
        const TaskStatistics& task = launch.tasks.at(static_cast<size_t>(id));
        expect_task(task, expected_task(made, expected.int32s("pos_memo"), task_dim, id, kib * 1024));
        EXPECT_LE(task.contended, task.atomics);
        // Nine parts of whole cache lines.
        const int64_t parts = kib * 1024 / kWord / 9 * 9 * kWord;
        EXPECT_EQ(task.nram_bytes, task.item_count == 0 ? 0 : (parts + 63) / 64 * 64);
      }
    }
  }
}

TEST(OpsVoxelPoolingForwardDevice, StatisticsFollowTheFormulas) {
  MLUOP_LABELS(kOnce, kSlow);
  for (const auto dtype : kFloatingDtypes) {
    // Tiles of 28, 455 and all points: splits with remainders, whole and partial tiles, tiles across batches.
    expect_formulas(dtype, {2, 1731, 40, 32, 32}, {1, 3, 16, 64}, {1, 16, 640});
    // Rows longer than the feature chunk of 168 channels in float and 336 in half: an atomic row for each chunk.
    for (const int channels : {167, 168, 169, 335, 336, 337, 1025}) {
      expect_formulas(dtype, {2, 37, channels, 5, 4}, {1, 4}, {1});
    }
  }
  // Tasks without points belong to the launch.
  expect_formulas(MLUOP_DTYPE_FLOAT, {3, 2, 5, 2, 2}, {4, 16, 64}, {640});
}

// The last launch of half loads each sum once and stores it as half.
TEST(OpsVoxelPoolingForwardDeviceHalf, RoundsTheSums) {
  const Case made = sized_case("voxel_pooling_forward", MLUOP_DTYPE_HALF, {2, 400, 33, 5, 7});
  const ScopedThreads threads(3);
  const Launch launch = run_recorded(made, kDevice).back();
  EXPECT_STREQ(launch.kernel, "f32_to_f16");
  EXPECT_EQ(launch.task_dim, 3);
  int64_t loaded = 0, stored = 0;
  for (const TaskStatistics& task : launch.tasks) {
    loaded += task.bytes_loaded;
    stored += task.bytes_stored;
  }
  const int64_t sums = element_count(made.outputs[0]);
  EXPECT_EQ(loaded, sums * 4);
  EXPECT_EQ(stored, sums * 2);
}

// The worked example of the document's split and tiles, at its full size: every point is in range.
TEST(BigVoxelPoolingForwardDevice, WorkedExample) {
  const struct {
    int task_dim;
    int64_t points, tiles, loaded, stored;  // of the first task
  } kExamples[] = {
      {1, 946176, 52, 314130432, 11354112},
      {4, 236544, 13, 78532608, 2838528},
      {16, 59136, 4, 19633152, 709632},
  };
  auto random = seeded_random();
  const auto& s = kBevDepthSizes;
  Case made = sized_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                         {s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y});
  std::vector<int32_t> geometry(static_cast<size_t>(s.geom_count()));
  for (size_t i = 0; i < geometry.size(); ++i) {
    geometry[i] = i % 3 == 2 ? 0 : static_cast<int32_t>(random() % 128);
  }
  set_values(made, "geom_xyz", geometry);
  const Oracle oracle(made);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", nullptr);
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", nullptr);
  for (const auto& [task_dim, points, tiles, loaded, stored] : kExamples) {
    SCOPED_TRACE(task_dim);
    TaskStatistics first{};
    first.item_count = first.atomics = points;
    first.tiles = tiles;
    first.bytes_loaded = loaded;
    first.bytes_stored = stored;
    first.atomic_elements = points * 80;
    const Launch launch = run_pooling(oracle, task_dim);
    expect_task(launch.tasks.front(), first);
    EXPECT_EQ(launch.tasks.back().first_item, 946176 - points);
    EXPECT_EQ(launch.tasks.back().item_count, points);
  }
}

}  // namespace
}  // namespace mluop::test

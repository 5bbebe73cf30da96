// The device algorithm of mluOpVoxelPoolingForward: split, tiles, traffic and atomics of each task, and its
// results.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/call_statistics.h"
#include "support/camera_rig.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;
constexpr int64_t kWord = 4;

Case make(mluOpDataType_t dtype, int64_t batch_size, int64_t num_points, int64_t num_channels, int64_t num_voxel_x,
          int64_t num_voxel_y) {
  return make_case("voxel_pooling_forward", dtype,
                   {{"batch_size", batch_size},
                    {"num_points", num_points},
                    {"num_channels", num_channels},
                    {"num_voxel_x", num_voxel_x},
                    {"num_voxel_y", num_voxel_y}});
}

// The network's size: these points with features of 0.5.
Case make_network(const std::vector<int32_t>& geometry) {
  const auto& s = kBevDepthSizes;
  Case made = make(MLUOP_DTYPE_FLOAT, s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y);
  set_values(made, "geom_xyz", geometry);
  set_values(made, "input_features", std::vector<float>(static_cast<size_t>(s.input_count()), 0.5F));
  return made;
}

// The launch of the kernel, with the pos_memo of the call, whose result is checked.
struct Recorded {
  Launch launch;
  std::vector<int32_t> memo;
};

Recorded run_recorded(const Oracle& oracle, int task_dim) {
  const ScopedThreads threads(task_dim);
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made());
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(oracle.agrees(call, kDevice));
  EXPECT_TRUE(call.intact());
  return {launch_of(handle, "voxel_pooling_forward"), call.int32s("pos_memo")};
}

// The statistics of a task by the formulas of the document, for an NRAM of nram_bytes. Points in range have a
// pos_memo.
mluOpOmpTaskStatistics_t expected_task(const Case& made, const std::vector<int32_t>& memo, int task_dim, int id,
                                       int64_t nram_bytes) {
  const cases::Tensor& features = made.inputs[1];
  const int64_t total = features.dims[0] * features.dims[1], channels = features.dims[2];
  const int64_t element = features.dtype == MLUOP_DTYPE_HALF ? 2 : 4;
  const int64_t tile_points = nram_bytes / kWord / 9, chunk_channels = 6 * tile_points * kWord / element;
  mluOpOmpTaskStatistics_t task{};
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

void expect_task(const mluOpOmpTaskStatistics_t& found, const mluOpOmpTaskStatistics_t& expected) {
  EXPECT_EQ(found.first_item, expected.first_item);
  EXPECT_EQ(found.item_count, expected.item_count);
  EXPECT_EQ(found.tiles, expected.tiles);
  EXPECT_EQ(found.bytes_loaded, expected.bytes_loaded);
  EXPECT_EQ(found.bytes_stored, expected.bytes_stored);
  EXPECT_EQ(found.atomics, expected.atomics);
  EXPECT_EQ(found.atomic_elements, expected.atomic_elements);
}

void expect_formulas(const Oracle& oracle, int task_dim, int64_t nram_kib) {
  SCOPED_TRACE(std::to_string(task_dim) + " tasks, NRAM " + std::to_string(nram_kib) + " KiB");
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(nram_kib).c_str());
  const auto [launch, memo] = run_recorded(oracle, task_dim);
  ASSERT_EQ(launch.task_dim, task_dim);
  for (int id = 0; id < task_dim; ++id) {
    SCOPED_TRACE(id);
    const auto& task = launch.tasks[static_cast<size_t>(id)];
    expect_task(task, expected_task(oracle.made(), memo, task_dim, id, nram_kib * 1024));
    EXPECT_LE(task.contended, task.atomics);
    // Nine parts, whole cache lines.
    const int64_t parts = nram_kib * 1024 / kWord / 9 * 9 * kWord;
    EXPECT_EQ(task.nram_bytes, task.item_count == 0 ? 0 : (parts + 63) / 64 * 64);
  }
}

// The channels of the worked example with fewer points and cells, in tiles of 455 points: splits with remainders,
// whole and partial tiles, tiles across batches.
TEST(OpsVoxelPoolingForwardDevice, StatisticsFollowTheFormulas) {
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make(dtype, 2, 4731, 80, 32, 32);
    const Oracle oracle(made);
    for (const int task_dim : {1, 2, 3, 4, 16, 64}) {
      for (const int64_t nram_kib : {1, 16, 640}) expect_formulas(oracle, task_dim, nram_kib);
    }
  }
}

// Rows longer than the feature chunk: an atomic row for each chunk.
TEST(OpsVoxelPoolingForwardDevice, ChunksOfChannels) {
  // 1 KiB: 28 points, 168 channels of float, 336 of half.
  for (const auto dtype : kFloatingDtypes) {
    for (const int channels : {167, 168, 169, 335, 336, 337, 1025}) {
      SCOPED_TRACE(channels);
      const Case made = make(dtype, 2, 37, channels, 5, 4);
      const Oracle oracle(made);
      for (const int task_dim : {1, 4}) expect_formulas(oracle, task_dim, 1);
    }
  }
}

// Tasks without points belong to the launch.
TEST(OpsVoxelPoolingForwardDevice, FewerPointsThanTasks) {
  const Case made = make(MLUOP_DTYPE_FLOAT, 3, 2, 5, 2, 2);
  for (const int task_dim : {4, 16, 64}) expect_formulas(made, task_dim, 640);
}

// The last launch of half: loads each sum once, and stores it as half.
TEST(OpsVoxelPoolingForwardDeviceHalf, RoundsTheSums) {
  const Case made = make(MLUOP_DTYPE_HALF, 2, 400, 33, 5, 7);
  const ScopedThreads threads(3);
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(made).agrees(call, kDevice));
  const Launch launch = launch_of(handle, "f32_to_f16");
  ASSERT_EQ(launch.task_dim, 3);
  int64_t loaded = 0, stored = 0;
  for (const auto& task : launch.tasks) {
    loaded += task.bytes_loaded;
    stored += task.bytes_stored;
  }
  EXPECT_EQ(loaded, call["output_features"].count() * 4);
  EXPECT_EQ(stored, call["output_features"].count() * 2);
}

TEST(OpsVoxelPoolingForwardDevice, AThreadForEachTask) {
  if (omp_get_thread_limit() < 7) GTEST_SKIP() << "OMP_THREAD_LIMIT is " << omp_get_thread_limit();
  const ScopedEnvironment unlimited("MLUOP_OMP_MAX_THREADS", nullptr);
  const Case made = make(MLUOP_DTYPE_FLOAT, 2, 400, 3, 5, 4);
  const Launch launch = run_recorded(made, 7).launch;
  EXPECT_EQ(launch.task_dim, 7);
  EXPECT_EQ(launch.threads, 7);
}

// The worked example of the document's split and tiles, at its full size.
struct Example {
  int task_dim;
  int64_t task_points, second_begin, last_begin, tiles, loaded, stored, atomics;
};
constexpr Example kExamples[] = {
    {1, 946176, 0, 0, 52, 314130432, 11354112, 946176},
    {4, 236544, 236544, 709632, 13, 78532608, 2838528, 236544},
    {16, 59136, 59136, 887040, 4, 19633152, 709632, 59136},
};

TEST(BigVoxelPoolingForwardDevice, WorkedExample) {
  std::vector<int32_t> geometry(static_cast<size_t>(kBevDepthSizes.geom_count()));
  auto random = seeded_random();
  for (size_t i = 0; i < geometry.size(); ++i) {
    geometry[i] = i % 3 == 2 ? 0 : static_cast<int32_t>(random() % 128);
  }
  const Case made = make_network(geometry);
  const Oracle oracle(made);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", nullptr);
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", nullptr);
  for (const Example& row : kExamples) {
    SCOPED_TRACE(row.task_dim);
    const Launch launch = run_recorded(oracle, row.task_dim).launch;
    ASSERT_EQ(launch.task_dim, row.task_dim);
    const auto& first = launch.tasks.front();
    EXPECT_EQ(first.first_item, 0);
    EXPECT_EQ(first.item_count, row.task_points);
    EXPECT_EQ(first.tiles, row.tiles);
    EXPECT_EQ(first.bytes_loaded, row.loaded);
    EXPECT_EQ(first.bytes_stored, row.stored);
    EXPECT_EQ(first.atomics, row.atomics);
    EXPECT_EQ(first.atomic_elements, row.atomics * 80);
    if (row.task_dim > 1) {
      EXPECT_EQ(launch.tasks[1].first_item, row.second_begin);
    }
    EXPECT_EQ(launch.tasks.back().first_item, row.last_begin);
    EXPECT_EQ(launch.tasks.back().first_item + launch.tasks.back().item_count, 946176);
  }
}

// About 47 % of the points of the cameras are in range.
TEST(BigVoxelPoolingForwardDevice, Cameras) {
  const Case made = make_network(camera_geometry(kBevDepthSizes.batch_size));
  const Oracle oracle(made);
  for (const int task_dim : {1, 4, 16}) expect_formulas(oracle, task_dim, 640);
}

}  // namespace
}  // namespace mluop::test

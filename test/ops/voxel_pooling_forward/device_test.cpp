// The device algorithm of mluOpVoxelPoolingForward: split, tiles, traffic and atomics of each task, and its
// results.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/voxel_pooling_forward/call.h"
#include "support/call_statistics.h"
#include "support/camera_rig.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;
constexpr int64_t kWord = 4;

// For fp32 additions in unspecified order, and for their rounding to half, which differs by a unit in the last
// place at most. The acceptance standard allows 3e-3.
template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 1e-5 : 0x1p-10;

template <class T>
void expect_near(const VoxelPoolingCall<T>& call, const VoxelPoolingOutputs<T>& expected) {
  const VoxelPoolingOutputs<T> found = call.outputs();
  EXPECT_EQ(found.pos_memo, expected.pos_memo);
  const auto [diff1, diff2] = differences(floats_of(found.output_features), floats_of(expected.output_features));
  EXPECT_LE(diff1, kTolerance<T>);
  EXPECT_LE(diff2, kTolerance<T>);
  EXPECT_TRUE(call.intact());
}

template <class T>
bool in_range(const VoxelPoolingInputs<T>& inputs, int64_t point) {
  const int32_t* p = inputs.geom_xyz.data() + point * 3;
  const VoxelPoolingSizes& s = inputs.sizes;
  return 0 <= p[0] && p[0] < s.num_voxel_x && 0 <= p[1] && p[1] < s.num_voxel_y && 0 <= p[2] &&
         p[2] < s.num_voxel_z;
}

// The launch of the kernel in a call with these inputs, whose result is checked.
template <class T>
Launch run_recorded(const VoxelPoolingInputs<T>& inputs, int task_dim, const VoxelPoolingOutputs<T>& expected) {
  const ScopedThreads threads(task_dim);
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const VoxelPoolingCall call(handle, inputs);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  expect_near(call, expected);
  return launch_of(handle, "voxel_pooling_forward");
}

// The statistics of a task by the formulas of the document, for an NRAM of nram_bytes.
template <class T>
mluOpOmpTaskStatistics_t expected_task(const VoxelPoolingInputs<T>& inputs, int task_dim, int id,
                                       int64_t nram_bytes) {
  const int64_t total = inputs.sizes.points(), channels = inputs.sizes.num_channels;
  const int64_t tile_points = nram_bytes / kWord / 9,
                chunk_channels = 6 * tile_points * kWord / int64_t{sizeof(T)};
  mluOpOmpTaskStatistics_t task{};
  task.first_item = id * (total / task_dim) + std::min<int64_t>(id, total % task_dim);
  task.item_count = total / task_dim + (id < total % task_dim ? 1 : 0);
  int64_t pooled = 0;
  for (int64_t i = 0; i < task.item_count; ++i) pooled += in_range(inputs, task.first_item + i) ? 1 : 0;
  task.tiles = (task.item_count + tile_points - 1) / tile_points;
  task.bytes_loaded = task.item_count * 3 * kWord + pooled * channels * int64_t{sizeof(T)};
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

template <class T>
void expect_formulas(const VoxelPoolingInputs<T>& inputs, int task_dim, int64_t nram_kib) {
  SCOPED_TRACE(std::to_string(task_dim) + " tasks, NRAM " + std::to_string(nram_kib) + " KiB");
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", std::to_string(nram_kib).c_str());
  const Launch launch = run_recorded(inputs, task_dim, voxel_pooling_reference(inputs));
  ASSERT_EQ(launch.task_dim, task_dim);
  for (int id = 0; id < task_dim; ++id) {
    SCOPED_TRACE(id);
    const auto& task = launch.tasks[static_cast<size_t>(id)];
    expect_task(task, expected_task(inputs, task_dim, id, nram_kib * 1024));
    EXPECT_LE(task.contended, task.atomics);
    // Nine parts, whole cache lines.
    const int64_t parts = nram_kib * 1024 / kWord / 9 * 9 * kWord;
    EXPECT_EQ(task.nram_bytes, task.item_count == 0 ? 0 : (parts + 63) / 64 * 64);
  }
}

template <class T>
class OpsVoxelPoolingForwardDevice : public ::testing::Test {};
using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsVoxelPoolingForwardDevice, Elements);

// The grid and channels of the worked example with fewer points, in tiles of 455 points: splits with remainders,
// whole and partial tiles, tiles across batches.
TYPED_TEST(OpsVoxelPoolingForwardDevice, StatisticsFollowTheFormulas) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<TypeParam>({2, 4731, 80, 128, 128, 1}, random);
  for (const int task_dim : {1, 2, 3, 4, 16, 64}) {
    for (const int64_t nram_kib : {1, 16, 640}) expect_formulas(inputs, task_dim, nram_kib);
  }
}

// Rows longer than the feature chunk: an atomic row for each chunk.
TYPED_TEST(OpsVoxelPoolingForwardDevice, ChunksOfChannels) {
  auto random = seeded_random();
  // 1 KiB: 28 points, 168 channels of float, 336 of half.
  for (const int channels : {167, 168, 169, 335, 336, 337, 1025}) {
    SCOPED_TRACE(channels);
    const auto inputs = random_voxel_pooling<TypeParam>({2, 37, channels, 5, 4, 2}, random);
    for (const int task_dim : {1, 4}) expect_formulas(inputs, task_dim, 1);
  }
}

// Tasks without points belong to the launch.
TYPED_TEST(OpsVoxelPoolingForwardDevice, FewerPointsThanTasks) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<TypeParam>({3, 2, 5, 2, 2, 1}, random);
  for (const int task_dim : {4, 16, 64}) expect_formulas(inputs, task_dim, 640);
}

// The last launch of half: loads each sum once, and stores it as half.
TEST(OpsVoxelPoolingForwardDeviceHalf, RoundsTheSums) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<Half>({2, 400, 33, 5, 7, 1}, random);
  const ScopedThreads threads(3);
  const Handle handle(kDevice);
  require(mluOpOmpSetStatistics(handle, 1));
  const VoxelPoolingCall call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  expect_near(call, voxel_pooling_reference(inputs));
  const Launch launch = launch_of(handle, "f32_to_f16");
  ASSERT_EQ(launch.task_dim, 3);
  int64_t loaded = 0, stored = 0;
  for (const auto& task : launch.tasks) {
    loaded += task.bytes_loaded;
    stored += task.bytes_stored;
  }
  EXPECT_EQ(loaded, inputs.sizes.output_count() * 4);
  EXPECT_EQ(stored, inputs.sizes.output_count() * 2);
}

// Every point adds to one row: no update is lost.
TYPED_TEST(OpsVoxelPoolingForwardDevice, OneCellForAllPoints) {
  VoxelPoolingInputs<TypeParam> inputs{{1, 20000, 7, 1, 1, 1}, std::vector<int32_t>(60000), {}};
  inputs.input_features.assign(static_cast<size_t>(inputs.sizes.input_count()), rounded_to<TypeParam>(1));
  for (const int task_dim : {1, 3, 16}) {
    const ScopedThreads threads(task_dim);
    const Handle handle(kDevice);
    const VoxelPoolingCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(floats_of(call.outputs().output_features), std::vector<float>(7, 20000.0F));
  }
}

TYPED_TEST(OpsVoxelPoolingForwardDevice, TaskAndNramSizes) {
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<TypeParam>({3, 7001, 19, 17, 13, 2}, random);
  const auto expected = voxel_pooling_reference(inputs);
  for (const int task_dim : {1, 2, 3, 16, 64}) {
    for (const char* kib : {"16", "17", "64", "384", "640", "1024"}) {
      SCOPED_TRACE(std::to_string(task_dim) + " tasks, NRAM " + kib + " KiB");
      const ScopedThreads threads(task_dim);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      const Handle handle(kDevice);
      const VoxelPoolingCall call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      expect_near(call, expected);
    }
  }
}

TYPED_TEST(OpsVoxelPoolingForwardDevice, AThreadForEachTask) {
  if (omp_get_thread_limit() < 7) GTEST_SKIP() << "OMP_THREAD_LIMIT is " << omp_get_thread_limit();
  const ScopedEnvironment unlimited("MLUOP_OMP_MAX_THREADS", nullptr);
  auto random = seeded_random();
  const auto inputs = random_voxel_pooling<TypeParam>({2, 400, 3, 5, 4, 1}, random);
  const Launch launch = run_recorded(inputs, 7, voxel_pooling_reference(inputs));
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
  VoxelPoolingInputs<float> inputs{
      kBevDepthSizes, std::vector<int32_t>(static_cast<size_t>(kBevDepthSizes.geom_count())), {}};
  auto random = seeded_random();
  for (size_t i = 0; i < inputs.geom_xyz.size(); ++i) {
    inputs.geom_xyz[i] = i % 3 == 2 ? 0 : static_cast<int32_t>(random() % 128);
  }
  inputs.input_features.assign(static_cast<size_t>(kBevDepthSizes.input_count()), 0.5F);
  const auto expected = voxel_pooling_reference(inputs);
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", nullptr);
  const ScopedEnvironment device("MLUOP_OMP_DEVICE", nullptr);
  for (const Example& row : kExamples) {
    SCOPED_TRACE(row.task_dim);
    const Launch launch = run_recorded(inputs, row.task_dim, expected);
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
  VoxelPoolingInputs<float> inputs{kBevDepthSizes, camera_geometry(kBevDepthSizes.batch_size), {}};
  inputs.input_features.assign(static_cast<size_t>(kBevDepthSizes.input_count()), 0.5F);
  for (const int task_dim : {1, 4, 16}) expect_formulas(inputs, task_dim, 640);
}

}  // namespace
}  // namespace mluop::test

// The device algorithm of mluOpMaskedIm2colForward: split, traffic and results.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "ops/masked_im2col_forward/call.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using TaskStatistics = mluOpOmpTaskStatistics_t;

// The launches of a call, in their order.
const std::vector<std::string> kLaunches = {"transpose", "fill", "copy_windows", "transpose"};
constexpr int kCopyLaunch = 2;

TaskStatistics copy_statistics(mluOpHandle_t handle, int task) {
  return task_statistics(handle, kCopyLaunch, task);
}

// The first and the number of masks of a task, and its traffic.
void expect_task(const TaskStatistics& task, int64_t first, int64_t masks, int64_t loaded, int64_t stored) {
  EXPECT_EQ(task.first_item, first);
  EXPECT_EQ(task.item_count, masks);
  EXPECT_EQ(task.bytes_loaded, loaded);
  EXPECT_EQ(task.bytes_stored, stored);
  EXPECT_EQ(task.atomics, 0);
  EXPECT_EQ(task.tiles, 0);
  EXPECT_EQ(task.nram_bytes, 0);
}

// Masks whose windows lie in the feature.
MaskedIm2colInputs<uint32_t> interior_masks(const MaskedIm2colSizes& sizes, std::mt19937& random) {
  auto inputs = random_masked_im2col<uint32_t>(sizes, random);
  const auto coordinate = [&](int64_t extent) {
    return static_cast<int32_t>(1 + random() % static_cast<uint64_t>(extent - 2));
  };
  for (int32_t& h : inputs.mask_h_idx) h = coordinate(sizes.height);
  for (int32_t& w : inputs.mask_w_idx) w = coordinate(sizes.width);
  return inputs;
}

// The RetinaNet size of the design document: a window has 9,216 bytes.
TEST(OpsMaskedIm2colForwardDevice, SplitAndTraffic) {
  auto random = seeded_random();
  const auto inputs = interior_masks({256, 20, 20, 200, 3, 3, 1, 1}, random);
  const auto expected = masked_im2col_reference(inputs);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  for (const int task_dim : {1, 4, 16}) {
    SCOPED_TRACE(task_dim);
    const ScopedThreads threads(task_dim);
    const MaskedIm2colCall<uint32_t> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.data_col_buffer.values(), expected);
    expect_launches(handle, kLaunches, task_dim);
    switch (task_dim) {
      case 1: expect_task(copy_statistics(handle, 0), 0, 200, 1844800, 1843200); break;
      case 4:
        expect_task(copy_statistics(handle, 0), 0, 50, 461200, 460800);
        expect_task(copy_statistics(handle, 1), 50, 50, 461200, 460800);
        expect_task(copy_statistics(handle, 3), 150, 50, 461200, 460800);
        break;
      default:
        expect_task(copy_statistics(handle, 0), 0, 13, 119912, 119808);
        expect_task(copy_statistics(handle, 1), 13, 13, 119912, 119808);
        expect_task(copy_statistics(handle, 15), 188, 12, 12 * 9224, 12 * 9216);
    }
  }
}

// Each transpose loads and stores its tensor once.
TEST(OpsMaskedIm2colForwardDevice, TrafficOfTransposes) {
  auto random = seeded_random();
  const auto inputs = interior_masks({256, 20, 20, 200, 3, 3, 1, 1}, random);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  for (const int task_dim : {1, 4, 16}) {
    SCOPED_TRACE(task_dim);
    const ScopedThreads threads(task_dim);
    const MaskedIm2colCall<uint32_t> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    for (const auto& [launch, bytes] : {std::pair{0, 409600}, {3, 1843200}}) {
      int64_t loaded = 0, stored = 0;
      for (int task = 0; task < task_dim; ++task) {
        const TaskStatistics statistics = task_statistics(handle, launch, task);
        loaded += statistics.bytes_loaded;
        stored += statistics.bytes_stored;
      }
      EXPECT_EQ(loaded, bytes);
      EXPECT_EQ(stored, bytes);
    }
  }
}

// Windows across the edges of the feature transfer their valid part, windows outside it their coordinates only.
TEST(OpsMaskedIm2colForwardDevice, TrafficOfClippedWindows) {
  auto random = seeded_random();
  auto inputs = random_masked_im2col<uint16_t>({10, 6, 7, 6, 3, 3, 1, 1}, random);
  inputs.mask_h_idx = {3, 0, 5, 6, 7, INT_MAX};
  inputs.mask_w_idx = {3, 0, 3, 7, 3, INT_MIN};
  const int64_t valid_pixels[] = {9, 4, 6, 1, 0, 0};
  const ScopedThreads threads(6);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  const MaskedIm2colCall<uint16_t> call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.data_col_buffer.values(), masked_im2col_reference(inputs));
  for (int task = 0; task < 6; ++task) {
    SCOPED_TRACE(task);
    const int64_t bytes = valid_pixels[task] * 10 * 2;
    expect_task(copy_statistics(handle, task), task, 1, bytes + 8, bytes);
  }
}

// Tasks without masks remain in the team.
TEST(OpsMaskedIm2colForwardDevice, FewerMasksThanTasks) {
  auto random = seeded_random();
  const auto inputs = interior_masks({8, 9, 9, 3, 3, 3, 1, 1}, random);
  const ScopedThreads threads(16);
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  require(mluOpOmpSetStatistics(handle, 1));
  const MaskedIm2colCall<uint32_t> call(handle, inputs);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  expect_launches(handle, kLaunches, 16);
  EXPECT_EQ(copy_statistics(handle, 2).item_count, 1);
  EXPECT_EQ(copy_statistics(handle, 3).item_count, 0);
}

// The query returns the feature and data_col, in whole cache lines, and the bytes that alignment may skip.
TEST(OpsMaskedIm2colForwardDevice, WorkspaceSize) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  EXPECT_EQ(masked_im2col_workspace<uint32_t>(handle, {256, 20, 20, 200, 3, 3, 1, 1}), 409600U + 1843200U + 63U);
  EXPECT_EQ(masked_im2col_workspace<uint16_t>(handle, {1, 1, 1, 1, 1, 1, 0, 0}), 64U + 64U + 63U);
  EXPECT_EQ(masked_im2col_workspace<uint32_t>(handle, {256, 20, 20, 0, 3, 3, 1, 1}), 0U);
}

TEST(OpsMaskedIm2colForwardDevice, TaskDimsAndNramSizes) {
  auto random = seeded_random();
  for (const MaskedIm2colSizes& sizes :
       {MaskedIm2colSizes{37, 20, 21, 203, 3, 3, 1, 1}, {3, 30, 40, 901, 2, 5, 0, 2}, {5, 4, 3, 7, 9, 11, 4, 5}}) {
    const auto inputs = random_masked_im2col<uint32_t>(sizes, random);
    const auto expected = masked_im2col_reference(inputs);
    for (const int task_dim : {1, 2, 3, 16, 64}) {
      for (const char* kib : {"16", "384", "1024"}) {
        SCOPED_TRACE("taskDim " + std::to_string(task_dim) + ", NRAM " + kib);
        const ScopedThreads threads(task_dim);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
        const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
        const MaskedIm2colCall<uint32_t> call(handle, inputs, Placement::kAgainstEnd);
        ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_EQ(call.data_col_buffer.values(), expected);
        EXPECT_TRUE(call.intact());
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test

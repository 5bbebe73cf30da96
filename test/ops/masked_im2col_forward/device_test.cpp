// The device algorithm of mluOpMaskedIm2colForward: split and traffic of its launches, and its workspace.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kDevice = MLUOP_OMP_ALGORITHM_DEVICE;

// The launches of a call, in their order.
const std::vector<std::string> kLaunches = {"transpose", "fill", "copy_windows", "transpose"};
constexpr int kCopyLaunch = 2;

Case make(mluOpDataType_t dtype, int64_t channels, int64_t height, int64_t width, int64_t masks) {
  return make_case("masked_im2col_forward", dtype,
                   {{"channels", channels}, {"height", height}, {"width", width}, {"mask_cnt", masks}});
}

// Windows of 3 x 3 pixels that lie in the feature.
Case interior_windows(int64_t channels, int64_t extent, int64_t masks) {
  Case made = make(MLUOP_DTYPE_FLOAT, channels, extent, extent, masks);
  for (const char* id : {"mask_h_idx", "mask_w_idx"}) {
    std::vector<int32_t> coordinates = int32s_of(made, id);
    for (int32_t& x : coordinates) x = 1 + x % static_cast<int32_t>(extent - 2);
    set_values(made, id, coordinates);
  }
  return made;
}

void run_recorded(const Oracle& oracle, mluOpHandle_t handle) {
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made());
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(oracle.agrees(call, kDevice));
  EXPECT_TRUE(call.intact());
}

// The first and the number of masks of a task of the copy, and its traffic.
void expect_task(mluOpHandle_t handle, int id, int64_t first, int64_t masks, int64_t loaded, int64_t stored) {
  SCOPED_TRACE(id);
  const mluOpOmpTaskStatistics_t task = task_statistics(handle, kCopyLaunch, id);
  EXPECT_EQ(task.first_item, first);
  EXPECT_EQ(task.item_count, masks);
  EXPECT_EQ(task.bytes_loaded, loaded);
  EXPECT_EQ(task.bytes_stored, stored);
  EXPECT_EQ(task.atomics, 0);
  EXPECT_EQ(task.tiles, 0);
  EXPECT_EQ(task.nram_bytes, 0);
}

// The RetinaNet size of the design document: a window has 9,216 bytes.
TEST(OpsMaskedIm2colForwardDevice, SplitAndTraffic) {
  const Case made = interior_windows(256, 20, 200);
  const Oracle oracle(made);
  for (const int task_dim : {1, 4, 16}) {
    SCOPED_TRACE(task_dim);
    const ScopedThreads threads(task_dim);
    const Handle handle(kDevice);
    run_recorded(oracle, handle);
    expect_launches(handle, kLaunches, task_dim);
    switch (task_dim) {
      case 1: expect_task(handle, 0, 0, 200, 1844800, 1843200); break;
      case 4:
        expect_task(handle, 0, 0, 50, 461200, 460800);
        expect_task(handle, 1, 50, 50, 461200, 460800);
        expect_task(handle, 3, 150, 50, 461200, 460800);
        break;
      default:
        expect_task(handle, 0, 0, 13, 119912, 119808);
        expect_task(handle, 1, 13, 13, 119912, 119808);
        expect_task(handle, 15, 188, 12, 12 * 9224, 12 * 9216);
    }
    // Each transpose loads and stores its tensor once.
    const std::vector<Launch> launches = launches_of(handle);
    for (const auto& [launch, bytes] : {std::pair{0, 409600}, {3, 1843200}}) {
      int64_t loaded = 0, stored = 0;
      for (const auto& task : launches[static_cast<size_t>(launch)].tasks) {
        loaded += task.bytes_loaded;
        stored += task.bytes_stored;
      }
      EXPECT_EQ(loaded, bytes);
      EXPECT_EQ(stored, bytes);
    }
  }
}

// Windows across the edges of the feature transfer their valid part, windows outside it their coordinates only.
TEST(OpsMaskedIm2colForwardDevice, TrafficOfClippedWindows) {
  Case made = make(MLUOP_DTYPE_HALF, 10, 6, 7, 6);
  set_values(made, "mask_h_idx", std::vector<int32_t>{3, 0, 5, 6, 7, INT_MAX});
  set_values(made, "mask_w_idx", std::vector<int32_t>{3, 0, 3, 7, 3, INT_MIN});
  const int64_t valid_pixels[] = {9, 4, 6, 1, 0, 0};
  const ScopedThreads threads(6);
  const Handle handle(kDevice);
  run_recorded(made, handle);
  for (int task = 0; task < 6; ++task) {
    const int64_t bytes = valid_pixels[task] * 10 * 2;
    expect_task(handle, task, task, 1, bytes + 8, bytes);
  }
}

// Tasks without masks remain in the team.
TEST(OpsMaskedIm2colForwardDevice, FewerMasksThanTasks) {
  const ScopedThreads threads(16);
  const Handle handle(kDevice);
  const Case made = interior_windows(8, 9, 3);
  run_recorded(made, handle);
  expect_launches(handle, kLaunches, 16);
  EXPECT_EQ(task_statistics(handle, kCopyLaunch, 2).item_count, 1);
  EXPECT_EQ(task_statistics(handle, kCopyLaunch, 3).item_count, 0);
}

// The query returns the feature and data_col, in whole cache lines, and the bytes that alignment may skip.
TEST(OpsMaskedIm2colForwardDevice, WorkspaceSize) {
  const Handle handle(kDevice);
  const auto size = [&](const Case& made) { return OperatorCall(handle, made).arguments.workspace_size; };
  EXPECT_EQ(size(make(MLUOP_DTYPE_FLOAT, 256, 20, 20, 200)), 409600U + 1843200U + 63U);
  EXPECT_EQ(size(make(MLUOP_DTYPE_FLOAT, 256, 20, 20, 0)), 0U);
  EXPECT_EQ(size(make_case("masked_im2col_forward", MLUOP_DTYPE_HALF,
                           {{"channels", 1},
                            {"height", 1},
                            {"width", 1},
                            {"mask_cnt", 1},
                            {"kernel_h", 1},
                            {"kernel_w", 1},
                            {"pad_h", 0},
                            {"pad_w", 0}})),
            64U + 64U + 63U);
}

}  // namespace
}  // namespace mluop::test

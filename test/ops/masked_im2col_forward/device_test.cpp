// The device algorithm of mluOpMaskedIm2colForward: split and traffic of its launches, and its workspace.
#include <gtest/gtest.h>

#include <climits>
#include <utility>
#include <vector>

#include "support/recorded_run.h"

namespace mluop::test {
namespace {

using cases::Case;

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

struct ExpectedTask {
  size_t id;
  int64_t first, masks;    // of the copy
  int64_t loaded, stored;  // bytes
};

// Checks tasks of the copy, which is the third launch of a call, and the traffic of all transposes.
void expect_tasks(const Case& made, int task_dim, const std::vector<ExpectedTask>& tasks) {
  SCOPED_TRACE(task_dim);
  const std::vector<Launch> launches = run_recorded(made, MLUOP_OMP_ALGORITHM_DEVICE, task_dim);
  expect_launches(launches, {"transpose", "fill", "copy_windows", "transpose"}, task_dim);
  for (const auto& [id, first, masks, loaded, stored] : tasks) {
    SCOPED_TRACE(id);
    const mluOpOmpTaskStatistics_t& task = launches.at(2).tasks.at(id);
    EXPECT_EQ(task.first_item, first);
    EXPECT_EQ(task.item_count, masks);
    EXPECT_EQ(task.bytes_loaded, loaded);
    EXPECT_EQ(task.bytes_stored, stored);
    EXPECT_EQ(task.atomics, 0);
    EXPECT_EQ(task.tiles, 0);
    EXPECT_EQ(task.nram_bytes, 0);
  }
  // Each transpose loads and stores its tensor once.
  for (const auto& [launch, tensor] : {std::pair{0, made.inputs[0]}, {3, made.outputs[0]}}) {
    int64_t loaded = 0, stored = 0;
    for (const auto& task : launches.at(static_cast<size_t>(launch)).tasks) {
      loaded += task.bytes_loaded;
      stored += task.bytes_stored;
    }
    EXPECT_EQ(loaded, byte_count(tensor));
    EXPECT_EQ(stored, byte_count(tensor));
  }
}

TEST(OpsMaskedIm2colForwardDevice, SplitAndTraffic) {
  // The RetinaNet size of the design document: a window has 9,216 bytes.
  const Case retina_net = interior_windows(256, 20, 200);
  expect_tasks(retina_net, 1, {{0, 0, 200, 1844800, 1843200}});
  expect_tasks(retina_net, 4,
               {{0, 0, 50, 461200, 460800}, {1, 50, 50, 461200, 460800}, {3, 150, 50, 461200, 460800}});
  expect_tasks(retina_net, 16,
               {{0, 0, 13, 119912, 119808}, {1, 13, 13, 119912, 119808}, {15, 188, 12, 12 * 9224, 12 * 9216}});
  // Tasks without masks remain in the team.
  expect_tasks(interior_windows(8, 9, 3), 16, {{2, 2, 1, 296, 288}, {3, 3, 0, 0, 0}});
}

// Windows across the edges of the feature transfer their valid part, windows outside it transfer only their
// coordinates.
TEST(OpsMaskedIm2colForwardDevice, TrafficOfClippedWindows) {
  Case made = make(MLUOP_DTYPE_HALF, 10, 6, 7, 6);
  set_values(made, "mask_h_idx", std::vector<int32_t>{3, 0, 5, 6, 7, INT_MAX});
  set_values(made, "mask_w_idx", std::vector<int32_t>{3, 0, 3, 7, 3, INT_MIN});
  std::vector<ExpectedTask> tasks;
  for (const int64_t valid_pixels : {9, 4, 6, 1, 0, 0}) {
    const int64_t bytes = valid_pixels * 10 * 2;
    tasks.push_back({tasks.size(), static_cast<int64_t>(tasks.size()), 1, bytes + 8, bytes});
  }
  expect_tasks(made, 6, tasks);
}

// The query returns the bytes of the feature and data_col, in whole cache lines, and the bytes that alignment may
// skip.
TEST(OpsMaskedIm2colForwardDevice, WorkspaceSize) {
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
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

// Requirements of mluOpOmpVoxelPoolingBackward on its sizes and the values of pos_memo.
#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "voxel_pooling_backward";

// grad_output_features is [2, 4, 5, 6], and each batch has 50 points.
cases::Case valid_case() {
  return make_case(
      kOp, MLUOP_DTYPE_FLOAT,
      {{"batch_size", 2}, {"num_points", 50}, {"num_channels", 6}, {"num_voxel_x", 5}, {"num_voxel_y", 4}});
}

// Changes pos_memo of a point.
Change memo(size_t point, int32_t b, int32_t y, int32_t x) {
  return all_of({set_element("pos_memo", point * 3, b), set_element("pos_memo", point * 3 + 1, y),
                 set_element("pos_memo", point * 3 + 2, x)});
}

// Bad values within vectors and in the remaining points.
TEST(OpsVoxelPoolingBackwardErrors, PosMemo) {
  expect_errors(valid_case(), {
                                  {memo(0, 2, 0, 0), "pos_memo[0, 0, 0] is 2, expected -1 to 1"},
                                  {memo(99, -2, -1, -1), "pos_memo[1, 49, 0] is -2, expected -1 to 1"},
                                  {memo(31, INT_MAX, 9, 9), "pos_memo[0, 31, 0] is 2147483647, expected -1 to 1"},
                                  {memo(98, INT_MIN, 0, 0), "pos_memo[1, 48, 0] is -2147483648, expected -1 to 1"},
                                  {memo(50, 1, 4, 0), "pos_memo[1, 0, 1] is 4, expected 0 to 3"},
                                  {memo(49, 0, -1, 0), "pos_memo[0, 49, 1] is -1, expected 0 to 3"},
                                  {memo(3, 0, 0, 5), "pos_memo[0, 3, 2] is 5, expected 0 to 4"},
                                  {memo(97, 1, 3, INT_MIN), "pos_memo[1, 47, 2] is -2147483648, expected 0 to 4"},
                                  {memo(20, 0, -1, -1), "pos_memo[0, 20, 1] is -1, expected 0 to 3"},
                                  {memo(20, -1, 0, -1), "pos_memo[0, 20, 1] is 0, expected -1"},
                                  {memo(21, -1, -1, 0), "pos_memo[0, 21, 2] is 0, expected -1"},
                                  {memo(99, -1, -1, 3), "pos_memo[1, 49, 2] is 3, expected -1"},
                                  {memo(5, -1, -2, -1), "pos_memo[0, 5, 1] is -2, expected -1"},
                                  // The message names the first of several bad points.
                                  {all_of({memo(60, 7, 0, 0), memo(10, 0, 0, 9), memo(11, 9, 0, 0)}),
                                   "pos_memo[0, 10, 2] is 9, expected 0 to 4"},
                              });
}

TEST(OpsVoxelPoolingBackwardErrors, CellsOfAnEmptyGrid) {
  const auto empty = [](const char* size) { return make_case(kOp, MLUOP_DTYPE_FLOAT, {{size, 0}}); };
  for (const char* size : {"num_voxel_x", "num_voxel_y"}) {
    expect_errors(empty(size), {{memo(1, 0, 0, 0), "pos_memo[0, 1, 0] is 0, expected -1"}});
  }
}

// The call of several tasks names the first of two bad points; the second is in the last task.
TEST(OpsVoxelPoolingBackwardErrors, PosMemoOfSeveralTasks) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  std::vector<CallError> rows;
  for (int point = 0; point < 69'999; point += point % 5000 < 40 ? 5 : 1331) {
    rows.push_back({all_of({memo(static_cast<size_t>(point), 0, 1, 3), memo(69'999, 0, 1, 3)}),
                    "pos_memo[0, " + std::to_string(point) + ", 2] is 3, expected 0 to 2"});
  }
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT,
                          {{"batch_size", 1},
                           {"num_points", 70'000},
                           {"num_channels", 1},
                           {"num_voxel_x", 3},
                           {"num_voxel_y", 3}}),
                rows, {.algorithms = {MLUOP_OMP_ALGORITHM_NATIVE}});
}

}  // namespace
}  // namespace mluop::test

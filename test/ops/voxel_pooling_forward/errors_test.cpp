// Requirements of mluOpVoxelPoolingForward on its scalars and sizes.
#include <gtest/gtest.h>

#include <climits>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "voxel_pooling_forward";

TEST(OpsVoxelPoolingForwardErrors, Scalars) {
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {}),
                {
                    {set("batch_size", 0), "batch_size is 0, expected at least 1"},
                    {set("num_points", -1), "num_points is -1, expected at least 1"},
                    {set("num_channels", 0), "num_channels is 0, expected at least 1"},
                    {set("num_voxel_x", 0), "num_voxel_x is 0, expected at least 1"},
                    {set("num_voxel_y", INT_MIN), "num_voxel_y is -2147483648, expected at least 1"},
                    {set("num_voxel_z", 0), "num_voxel_z is 0, expected at least 1"},
                    {set("num_points", 49), "geom_xyz dim 1 is 100, expected 49"},
                });
}

TEST(OpsVoxelPoolingForwardErrors, Limits) {
  const auto sizes = [](int batch_size, int num_points, int num_channels, int num_voxel_x, int num_voxel_y) {
    return with_sizes(kOp, {{"batch_size", batch_size},
                            {"num_points", num_points},
                            {"num_channels", num_channels},
                            {"num_voxel_x", num_voxel_x},
                            {"num_voxel_y", num_voxel_y}});
  };
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {});
  expect_errors(
      made, {{sizes(2, 1 << 30, 1, 1, 1), "input_features has 2147483648 points, expected fewer than 2^31",
              MLUOP_STATUS_NOT_SUPPORTED},
             {sizes(2, 1, 1, 1 << 15, 1 << 15), "output_features has 2147483648 cells, expected fewer than 2^31",
              MLUOP_STATUS_NOT_SUPPORTED}});
  const std::string expected = " elements, expected fewer than 2^31 with the device algorithm";
  expect_errors(
      made,
      {{sizes(1, 715827883, 1, 1, 1), "geom_xyz has 2147483649" + expected, MLUOP_STATUS_NOT_SUPPORTED},
       {sizes(1, 1 << 15, 1 << 16, 1, 1), "input_features has 2147483648" + expected, MLUOP_STATUS_NOT_SUPPORTED},
       {sizes(1, 1, 1 << 16, 1 << 7, 1 << 8), "output_features has 2147483648" + expected,
        MLUOP_STATUS_NOT_SUPPORTED}},
      {.algorithms = {MLUOP_OMP_ALGORITHM_DEVICE}});
}

}  // namespace
}  // namespace mluop::test

// What mluOpVoxelPoolingForward requires of its scalars and sizes.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"

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

// Tensors of half and of float do not mix, and the last element of an output is its own.
TEST(OpsVoxelPoolingForwardErrors, Tensors) {
  for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    const auto last_of_output = [](OperatorCall& call) {
      const cases::Operand& output = call["output_features"];
      call["input_features"].data = output.data + output.bytes() - 1;
    };
    expect_errors(make_case(kOp, dtype, {}),
                  {{last_of_output, "output_features overlaps input_features, expected memory of its own"}});
  }
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

TEST(OpsVoxelPoolingForwardErrors, DevicesWithoutTheOperator) {
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {});
  for (const char* device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    expect_errors(made, {{no_change, std::string("device is ") + device + ", expected mlu370 or mlu590",
                          MLUOP_STATUS_ARCH_MISMATCH}});
  }
  for (const char* device : {"mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    expect_oracle(made);
  }
}

// The smallest NRAM holds the smallest tile of both algorithms.
TEST(OpsVoxelPoolingForwardErrors, SmallestNramIsAccepted) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  expect_oracle(make_case(kOp, MLUOP_DTYPE_FLOAT, {{"num_points", 4}, {"num_channels", 1024}}));
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsVoxelPoolingForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{"batch_size", 1}, {"num_points", 4}}));
  std::vector<int32_t> both = call.int32s("geom_xyz");
  both.resize(24);
  call["geom_xyz"].data = reinterpret_cast<std::byte*>(both.data());
  call["pos_memo"].data = reinterpret_cast<std::byte*>(both.data() + 12);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test

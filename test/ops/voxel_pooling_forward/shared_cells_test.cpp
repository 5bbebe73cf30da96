// mluOpVoxelPoolingForward in the native algorithm where one cell has most points: tasks share its channels, and
// the bits are those of the serial loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

// Nine points in ten are in the cell x, y = 3, 4.
Case crowded(mluOpDataType_t dtype, int channels, std::mt19937& random) {
  Case made = make_case("voxel_pooling_forward", dtype,
                        {{"batch_size", 1},
                         {"num_points", 6000},
                         {"num_channels", channels},
                         {"num_voxel_x", 20},
                         {"num_voxel_y", 30}});
  std::vector<int32_t> geometry = int32s_of(made, "geom_xyz");
  for (size_t i = 0; i < geometry.size(); i += 3) {
    if (random() % 10 == 0) continue;
    geometry[i] = 3;
    geometry[i + 1] = 4;
    geometry[i + 2] = 0;
  }
  set_values(made, "geom_xyz", geometry);
  return made;
}

void expect_sums(const Oracle& oracle, int task_dim, Placement placement) {
  const ScopedThreads threads(task_dim);
  const Handle handle(MLUOP_OMP_ALGORITHM_NATIVE);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made(), placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
  EXPECT_TRUE(call.intact());
  const int line_channels = call["input_features"].is_half() ? 32 : 16;
  const int lines = (oracle.made().parameters.int32("num_channels") + line_channels - 1) / line_channels;
  const int shares = std::min(launch_of(handle, "sum").task_dim, lines);
  if (shares > 1) {
    EXPECT_EQ(launch_of(handle, "sum_shared").task_dim, shares);
  } else {
    EXPECT_THROW(launch_of(handle, "sum_shared"), std::runtime_error);
  }
}

TEST(OpsVoxelPoolingForwardSharedCells, SerialBits) {
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    for (const int channels : {1, 16, 17, 33, 80, 83}) {
      const Case made = crowded(dtype, channels, random);
      const Oracle oracle(made);
      for (const int task_dim : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(std::to_string(channels) + " channels, tasks: " + std::to_string(task_dim));
        for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
          expect_sums(oracle, task_dim, placement);
        }
      }
    }
  }
}

// A sum starts at +0 here too: of points of -0 it is +0.
TEST(OpsVoxelPoolingForwardSharedCells, NegativeZero) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_case(
        "voxel_pooling_forward", dtype,
        {{"batch_size", 1}, {"num_points", 12000}, {"num_channels", 40}, {"num_voxel_x", 1}, {"num_voxel_y", 1}});
    set_values(made, "geom_xyz", std::vector<int32_t>(36000));
    set_values(made, "input_features", std::vector<float>(size_t{12000} * 40, -0.0F));
    expect_sums(made, 2, Placement::kAligned);
  }
}

}  // namespace
}  // namespace mluop::test

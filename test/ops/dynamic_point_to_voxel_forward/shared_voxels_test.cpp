// mluOpDynamicPointToVoxelForward where few voxels have most points: tasks share the points of a voxel (maximum)
// or its channels (sum, mean).
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

// Three voxels have a half, a quarter and an eighth of the points; the others have a few.
PointToVoxelInputs crowded(int64_t channels, mluOpReduceMode_t reduce_type, std::mt19937& random) {
  auto inputs = random_point_to_voxel(50000, channels, 40, reduce_type, random);
  for (int64_t point = 0; point < inputs.points; ++point) {
    const uint32_t choice = random() % 8;
    const int32_t x = choice < 4 ? 30 : choice < 6 ? 7 : 12;
    if (choice < 7) std::fill_n(inputs.coors.begin() + point * 3, 3, x);
  }
  return inputs;
}

void expect_reference(const PointToVoxelInputs& inputs, const std::string& shared_kernel) {
  const auto expected = point_to_voxel_reference(inputs);
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(::testing::Message() << inputs.channels << " channels, reduce_type " << inputs.reduce_type << ", "
                                      << count << " threads");
    const ScopedThreads threads(count);
    const Handle handle(MLUOP_OMP_ALGORITHM_NATIVE);
    require(mluOpOmpSetStatistics(handle, 1));
    const PointToVoxelCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.has(expected));
    EXPECT_TRUE(call.intact());
    const int task_dim = launch_of(handle, "reduce").task_dim;
    if (task_dim > 1) {
      EXPECT_EQ(launch_of(handle, shared_kernel).task_dim, task_dim);
    } else {
      EXPECT_THROW(launch_of(handle, shared_kernel), std::runtime_error);
    }
  }
}

TEST(OpsDynamicPointToVoxelForwardSharedVoxels, PointsOfMaxima) {
  auto random = seeded_random();
  for (const int channels : {1, 21, 64}) {
    expect_reference(crowded(channels, MLUOP_REDUCE_DMAX, random), "reduce_pieces");
  }
}

// Equal maxima, zeros of either sign and NaN in several pieces.
TEST(OpsDynamicPointToVoxelForwardSharedVoxels, SpecialMaxima) {
  auto random = seeded_random();
  constexpr float kValues[] = {kNan, -kNan, -kInfinity, 0.0F, -0.0F, -1.0F, -1e-42F};
  auto inputs = crowded(5, MLUOP_REDUCE_DMAX, random);
  for (float& value : inputs.feats) value = kValues[random() % std::size(kValues)];
  expect_reference(inputs, "reduce_pieces");
}

TEST(OpsDynamicPointToVoxelForwardSharedVoxels, ChannelsOfSums) {
  auto random = seeded_random();
  for (const int channels : {21, 64}) {
    for (const auto reduce_type : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN}) {
      expect_reference(crowded(channels, reduce_type, random), "reduce_lines");
    }
  }
}

}  // namespace
}  // namespace mluop::test

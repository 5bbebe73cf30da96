// mluOpVoxelPoolingForward in the native algorithm where one cell has most points: tasks share its channels, and
// the bits are those of the serial loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/voxel_pooling_forward/call.h"
#include "support/call_statistics.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

// Nine points in ten are in the cell x, y = 3, 4.
template <class T>
VoxelPoolingInputs<T> crowded(int channels, std::mt19937& random) {
  auto inputs = random_voxel_pooling<T>({1, 6000, channels, 20, 30, 1}, random);
  for (size_t i = 0; i < inputs.geom_xyz.size(); i += 3) {
    if (random() % 10 == 0) continue;
    inputs.geom_xyz[i] = 3;
    inputs.geom_xyz[i + 1] = 4;
    inputs.geom_xyz[i + 2] = 0;
  }
  return inputs;
}

template <class T>
void expect_sums(const VoxelPoolingInputs<T>& inputs, const std::vector<T>& expected, int task_dim,
                 Placement placement) {
  const ScopedThreads threads(task_dim);
  const Handle handle(MLUOP_OMP_ALGORITHM_NATIVE);
  require(mluOpOmpSetStatistics(handle, 1));
  const VoxelPoolingCall call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(same_bits(floats_of(call.outputs().output_features), floats_of(expected)));
  EXPECT_TRUE(call.intact());
  constexpr int kLineChannels = 64 / static_cast<int>(sizeof(T));
  const int lines = (inputs.sizes.num_channels + kLineChannels - 1) / kLineChannels;
  const int shares = std::min(launch_of(handle, "sum").task_dim, lines);
  if (shares > 1) {
    EXPECT_EQ(launch_of(handle, "sum_shared").task_dim, shares);
  } else {
    EXPECT_THROW(launch_of(handle, "sum_shared"), std::runtime_error);
  }
}

template <class T>
class OpsVoxelPoolingForwardSharedCells : public ::testing::Test {};
using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsVoxelPoolingForwardSharedCells, Elements);

TYPED_TEST(OpsVoxelPoolingForwardSharedCells, SerialBits) {
  auto random = seeded_random();
  for (const int channels : {1, 16, 17, 33, 80, 83}) {
    const auto inputs = crowded<TypeParam>(channels, random);
    const auto expected = voxel_pooling_reference(inputs).output_features;
    for (const int task_dim : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(std::to_string(channels) + " channels, tasks: " + std::to_string(task_dim));
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
        expect_sums(inputs, expected, task_dim, placement);
      }
    }
  }
}

// A sum starts at +0 here too: of points of -0 it is +0.
TYPED_TEST(OpsVoxelPoolingForwardSharedCells, NegativeZero) {
  auto random = seeded_random();
  auto inputs = random_voxel_pooling<TypeParam>({1, 12000, 40, 1, 1, 1}, random);
  std::ranges::fill(inputs.geom_xyz, 0);
  std::ranges::fill(inputs.input_features, rounded_to<TypeParam>(-0.0));
  expect_sums(inputs, std::vector<TypeParam>(40), 2, Placement::kAligned);
}

}  // namespace
}  // namespace mluop::test

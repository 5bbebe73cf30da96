// Properties of mluOpVoxelPoolingForward that need no oracle. Features are integers: their sums are exact in any
// order.
#include <gtest/gtest.h>

#include "ops/voxel_pooling_forward/call.h"
#include "support/compare.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

template <class T>
VoxelPoolingInputs<T> random_problem(std::mt19937& random) {
  const VoxelPoolingSizes sizes = {random_size(random, 3),  random_size(random, 900), random_size(random, 90),
                                   random_size(random, 12), random_size(random, 12),  random_size(random, 3)};
  VoxelPoolingInputs<T> inputs = random_voxel_pooling<T>(sizes, random);
  inputs.input_features = random_integers<T>(static_cast<size_t>(sizes.input_count()), random, 8);
  return inputs;
}

template <class T>
VoxelPoolingOutputs<T> result_of(const VoxelPoolingInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm) {
  const Handle handle(algorithm);
  const VoxelPoolingCall call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.outputs();
}

// Moves row order[p] of each batch to row p.
template <class T>
std::vector<T> permuted(const std::vector<T>& rows, size_t width, const std::vector<int32_t>& order) {
  std::vector<T> moved;
  moved.reserve(rows.size());
  for (size_t batch = 0; batch < rows.size(); batch += order.size() * width) {
    for (const int32_t source : order) {
      const T* row = rows.data() + batch + static_cast<size_t>(source) * width;
      moved.insert(moved.end(), row, row + width);
    }
  }
  return moved;
}

template <class T>
class OpsVoxelPoolingForwardProperties : public ::testing::Test {};
using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsVoxelPoolingForwardProperties, Elements);

TYPED_TEST(OpsVoxelPoolingForwardProperties, APermutationOfPointsLeavesTheSums) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const VoxelPoolingInputs<TypeParam> inputs = random_problem<TypeParam>(random);
    const auto order = random_permutation(inputs.sizes.num_points, random);
    const auto channels = static_cast<size_t>(inputs.sizes.num_channels);
    const VoxelPoolingInputs<TypeParam> moved = {inputs.sizes, permuted(inputs.geom_xyz, 3, order),
                                                 permuted(inputs.input_features, channels, order)};
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const VoxelPoolingOutputs<TypeParam> before = result_of(inputs, algorithm);
      const VoxelPoolingOutputs<TypeParam> after = result_of(moved, algorithm);
      EXPECT_TRUE(same_bits(floats_of(after.output_features), floats_of(before.output_features)));
      EXPECT_EQ(after.pos_memo, permuted(before.pos_memo, 3, order));
    }
  }
}

// The sum of each channel of a batch over all cells is that over its points in range, as pos_memo names them.
TYPED_TEST(OpsVoxelPoolingForwardProperties, SumsAreConserved) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const VoxelPoolingInputs<TypeParam> inputs = random_problem<TypeParam>(random);
    const VoxelPoolingSizes& s = inputs.sizes;
    const auto channels = static_cast<size_t>(s.num_channels);
    const auto in_range = [&](size_t point) {
      const int32_t* xyz = inputs.geom_xyz.data() + point * 3;
      return xyz[0] >= 0 && xyz[0] < s.num_voxel_x && xyz[1] >= 0 && xyz[1] < s.num_voxel_y && xyz[2] >= 0 &&
             xyz[2] < s.num_voxel_z;
    };
    std::vector<double> expected(static_cast<size_t>(s.batch_size) * channels);
    for (size_t i = 0; i < inputs.input_features.size(); ++i) {
      const size_t point = i / channels;
      const size_t batch = point / static_cast<size_t>(s.num_points);
      if (in_range(point)) expected[batch * channels + i % channels] += to_f32(inputs.input_features[i]);
    }
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const VoxelPoolingOutputs<TypeParam> found = result_of(inputs, algorithm);
      const size_t batch_count = found.output_features.size() / static_cast<size_t>(s.batch_size);
      std::vector<double> sums(expected.size());
      for (size_t i = 0; i < found.output_features.size(); ++i) {
        sums[i / batch_count * channels + i % channels] += to_f32(found.output_features[i]);
      }
      EXPECT_EQ(sums, expected);
      for (size_t point = 0; point < found.pos_memo.size() / 3; ++point) {
        ASSERT_EQ(found.pos_memo[point * 3] >= 0, in_range(point)) << point;
      }
    }
  }
}

TYPED_TEST(OpsVoxelPoolingForwardProperties, NativeEqualsDevice) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const VoxelPoolingInputs<TypeParam> inputs = random_problem<TypeParam>(random);
    const RandomTeam team(random);
    const VoxelPoolingOutputs<TypeParam> native = result_of(inputs, MLUOP_OMP_ALGORITHM_NATIVE);
    const VoxelPoolingOutputs<TypeParam> device = result_of(inputs, MLUOP_OMP_ALGORITHM_DEVICE);
    EXPECT_TRUE(same_bits(floats_of(native.output_features), floats_of(device.output_features)));
    EXPECT_EQ(native.pos_memo, device.pos_memo);
  }
}

}  // namespace
}  // namespace mluop::test

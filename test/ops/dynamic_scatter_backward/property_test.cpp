// Properties of mluOpDynamicScatterBackward that need no oracle. Gradients are integers other than 0: their sums
// are exact, and an element of grad_feats that is not 0 has received a gradient.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/dynamic_scatter_backward/call.h"
#include "support/compare.h"
#include "support/random_problem.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

// One channel of a voxel in ten is NaN, which no point equals.
DynamicScatterInputs random_problem(std::mt19937& random) {
  const int points = random_size(random, 900);
  const int voxels = random_size(random, points);
  const int voxel_num = random_size(random, voxels);
  auto inputs = random_dynamic_scatter({points, voxels, random_size(random, 70), voxel_num}, random);
  for (float& gradient : inputs.grad_voxel_feats) gradient = static_cast<float>(1 + random() % 1000);
  for (float& maximum : inputs.voxel_feats) {
    if (random() % 10 == 0) maximum = kNan;
  }
  return inputs;
}

std::vector<float> result_of(const DynamicScatterInputs& inputs, mluOpOmpAlgorithm_t algorithm) {
  const Handle handle(algorithm);
  const DynamicScatterCall call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.output();
}

// Each channel of a voxel reaches one point of that voxel, with its gradient, if the voxel has points and the
// channel is not NaN; else none. Points without voxel receive nothing. So gradients are conserved.
TEST(OpsDynamicScatterBackwardProperties, AGradientReachesOnePoint) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const DynamicScatterInputs inputs = random_problem(random);
    const auto channels = static_cast<size_t>(inputs.sizes.channels);
    double expected_sum = 0;
    std::vector<int> expected_count(inputs.voxel_feats.size());
    for (size_t i = 0; i < inputs.voxel_feats.size(); ++i) {
      if (inputs.voxel_points_count[i / channels] == 0 || std::isnan(inputs.voxel_feats[i])) continue;
      expected_sum += inputs.grad_voxel_feats[i];
      expected_count[i] = 1;
    }
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const std::vector<float> grad_feats = result_of(inputs, algorithm);
      double sum = 0;
      std::vector<int> count(expected_count.size());
      for (size_t i = 0; i < grad_feats.size(); ++i) {
        sum += grad_feats[i];
        if (grad_feats[i] == 0) continue;
        const int32_t voxel = inputs.point2voxel_map[i / channels];
        ASSERT_GE(voxel, 0) << "element " << i;
        const size_t source = static_cast<size_t>(voxel) * channels + i % channels;
        ++count[source];
        ASSERT_EQ(grad_feats[i], inputs.grad_voxel_feats[source]) << "element " << i;
        ASSERT_EQ(inputs.feats[i], inputs.voxel_feats[source]) << "element " << i;
      }
      EXPECT_EQ(count, expected_count);
      EXPECT_EQ(sum, expected_sum);
    }
  }
}

TEST(OpsDynamicScatterBackwardProperties, NativeEqualsDevice) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const DynamicScatterInputs inputs = random_problem(random);
    const RandomTeam team(random);
    EXPECT_TRUE(
        same_bits(result_of(inputs, MLUOP_OMP_ALGORITHM_NATIVE), result_of(inputs, MLUOP_OMP_ALGORITHM_DEVICE)));
  }
}

}  // namespace
}  // namespace mluop::test

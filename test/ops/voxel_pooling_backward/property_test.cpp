// Properties of mluOpOmpVoxelPoolingBackward that need no oracle, with pos_memo of mluOpVoxelPoolingForward.
// Features and gradients are integers: their sums and products are exact in any order.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <type_traits>

#include "ops/voxel_pooling_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

VoxelPoolingInputs<float> random_problem(std::mt19937& random) {
  const VoxelPoolingSizes sizes = {random_size(random, 3),  random_size(random, 900), random_size(random, 90),
                                   random_size(random, 12), random_size(random, 12),  random_size(random, 3)};
  VoxelPoolingInputs<float> inputs = random_voxel_pooling<float>(sizes, random);
  inputs.input_features = random_integers<float>(static_cast<size_t>(sizes.input_count()), random, 8);
  return inputs;
}

VoxelPoolingOutputs<float> forward(const VoxelPoolingInputs<float>& inputs) {
  const Handle handle;
  const VoxelPoolingCall call(handle, inputs);
  require(call.run());
  return call.outputs();
}

// T: float or Half.
template <class T>
std::vector<float> backward(const VoxelPoolingSizes& s, const std::vector<int32_t>& memo,
                            const std::vector<float>& grad_output) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint16_t>;
  VoxelPoolingBackwardInputs<Bits> inputs{
      {s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y}, {}, memo};
  for (const float value : grad_output) {
    const T rounded = rounded_to<T>(value);
    Bits bits;
    std::memcpy(&bits, &rounded, sizeof(bits));
    inputs.grad_output.push_back(bits);
  }
  const Handle handle;
  const VoxelPoolingBackwardCall<Bits> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  std::vector<float> grad_input;
  for (const Bits bits : call.grad_input_buffer.values()) {
    T value;
    std::memcpy(&value, &bits, sizeof(bits));
    grad_input.push_back(to_f32(value));
  }
  return grad_input;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

template <class T>
class OpsVoxelPoolingBackwardProperties : public ::testing::Test {
 protected:
  std::vector<float> random_gradient(const VoxelPoolingInputs<float>& inputs) {
    return random_integers<float>(static_cast<size_t>(inputs.sizes.output_count()), random, 100);
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsVoxelPoolingBackwardProperties, Elements);

// The adjoint of voxel pooling: <forward(x), g> = <x, backward(g)>.
TYPED_TEST(OpsVoxelPoolingBackwardProperties, Adjoint) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const VoxelPoolingInputs<float> inputs = random_problem(this->random);
    const std::vector<float> gradient = this->random_gradient(inputs);
    const RandomTeam team(this->random);
    const VoxelPoolingOutputs<float> outputs = forward(inputs);
    const auto grad_input = backward<TypeParam>(inputs.sizes, outputs.pos_memo, gradient);
    EXPECT_EQ(dot(outputs.output_features, gradient), dot(inputs.input_features, grad_input));
  }
}

// Central differences of the loss <forward(x), g>.
TYPED_TEST(OpsVoxelPoolingBackwardProperties, FiniteDifferences) {
  for (int round = 0; round < kRounds; ++round) {
    VoxelPoolingInputs<float> inputs = random_problem(this->random);
    const std::vector<float> gradient = this->random_gradient(inputs);
    const RandomTeam team(this->random);
    const auto grad_input = backward<TypeParam>(inputs.sizes, forward(inputs).pos_memo, gradient);
    const auto loss = [&] { return dot(forward(inputs).output_features, gradient); };
    for (int i = 0; i < 20; ++i) {
      const size_t element = this->random() % inputs.input_features.size();
      SCOPED_TRACE(std::to_string(round) + ", element " + std::to_string(element));
      constexpr float kStep = 0.5F;
      float& feature = inputs.input_features[element];
      feature += kStep;
      const double above = loss();
      feature -= 2 * kStep;
      const double below = loss();
      feature += kStep;
      EXPECT_EQ(grad_input[element], (above - below) / (2 * kStep));
    }
  }
}

// A point in range receives the gradient of its voxel, another one 0.
TYPED_TEST(OpsVoxelPoolingBackwardProperties, ConstantGradientMarksThePointsInRange) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const VoxelPoolingInputs<float> inputs = random_problem(this->random);
    const std::vector<float> ones(static_cast<size_t>(inputs.sizes.output_count()), 1.0F);
    const RandomTeam team(this->random);
    const std::vector<int32_t> memo = forward(inputs).pos_memo;
    const auto grad_input = backward<TypeParam>(inputs.sizes, memo, ones);
    const auto channels = static_cast<size_t>(inputs.sizes.num_channels);
    for (size_t i = 0; i < grad_input.size(); ++i) {
      ASSERT_EQ(grad_input[i], memo[i / channels * 3] < 0 ? 0.0F : 1.0F) << i;
    }
  }
}

}  // namespace
}  // namespace mluop::test

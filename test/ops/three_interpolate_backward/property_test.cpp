// Properties of mluOpThreeInterpolateBackward that need no oracle. Gradients, weights and features are integers
// small enough that fp32 and half represent all sums.
#include <gtest/gtest.h>

#include "ops/three_interpolate_backward/call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

// Sums have at most 3 N products of magnitude 4. Half represents the integers up to 2048.
template <class T>
constexpr int kMaxPoints = sizeof(T) == 2 ? 170 : 900;

template <class T>
class OpsThreeInterpolateBackwardProperties : public ::testing::Test {
 protected:
  ThreeInterpolateInputs<T> random_problem() {
    const ThreeInterpolateSizes sizes = {random_size(random, 3), random_size(random, 80),
                                         random_size(random, kMaxPoints<T>), random_size(random, 200)};
    auto inputs = random_three_interpolate<T>(sizes, random);
    inputs.grad_output = random_integers<T>(inputs.grad_output.size(), random, 2);
    inputs.weights = random_integers<T>(inputs.weights.size(), random, 2);
    return inputs;
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsThreeInterpolateBackwardProperties, Elements);

template <class T>
std::vector<T> result_of(const ThreeInterpolateInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm) {
  const Handle handle(algorithm);
  const ThreeInterpolateCall<T> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.output();
}

// The forward operator: interpolated [B, C, N] of features [B, C, M].
template <class T>
std::vector<double> forward_of(const ThreeInterpolateInputs<T>& inputs, const std::vector<T>& features) {
  const auto& s = inputs.sizes;
  std::vector<double> interpolated;
  for (int64_t row = 0; row < s.B * s.C; ++row) {
    for (int64_t n = 0; n < s.N; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 3; ++k) {
        const auto slot = static_cast<size_t>((row / s.C * s.N + n) * 3 + k);
        sum += double{to_f32(features[static_cast<size_t>(row * s.M + inputs.indices[slot])])} *
               to_f32(inputs.weights[slot]);
      }
      interpolated.push_back(sum);
    }
  }
  return interpolated;
}

// <forward(f), g> = <f, backward(g)>.
TYPED_TEST(OpsThreeInterpolateBackwardProperties, IsTheAdjointOfInterpolation) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    const ThreeInterpolateInputs<T> inputs = this->random_problem();
    const auto features =
        random_integers<T>(static_cast<size_t>(inputs.sizes.grad_features_count()), this->random, 100);
    const auto interpolated = forward_of(inputs, features);
    double expected = 0;
    for (size_t i = 0; i < interpolated.size(); ++i) expected += interpolated[i] * to_f32(inputs.grad_output[i]);
    const RandomTeam team(this->random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const auto grad_features = result_of(inputs, algorithm);
      double found = 0;
      for (size_t i = 0; i < features.size(); ++i) found += double{to_f32(features[i])} * to_f32(grad_features[i]);
      EXPECT_EQ(found, expected);
    }
  }
}

TYPED_TEST(OpsThreeInterpolateBackwardProperties, NativeEqualsDevice) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const RandomTeam team(this->random);
    EXPECT_TRUE(result_of(inputs, MLUOP_OMP_ALGORITHM_NATIVE) == result_of(inputs, MLUOP_OMP_ALGORITHM_DEVICE));
  }
}

}  // namespace
}  // namespace mluop::test

// Properties of mluOpThreeInterpolateForward that need no oracle. Features and weights are integers small enough
// that fp32 and half represent all sums.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_forward/call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

// Sums of the backward operator have at most 3 N products of magnitude 4. Half represents the integers up to 2048.
template <class T>
constexpr int kMaxPoints = sizeof(T) == 2 ? 170 : 900;

template <class T>
class OpsThreeInterpolateForwardProperties : public ::testing::Test {
 protected:
  ThreeInterpolateForwardInputs<T> random_problem() {
    const ThreeInterpolateForwardSizes sizes = {random_size(random, 3), random_size(random, 80),
                                                random_size(random, 200), random_size(random, kMaxPoints<T>)};
    auto inputs = random_three_interpolate_forward<T>(sizes, random);
    inputs.features = random_integers<T>(inputs.features.size(), random, 2);
    inputs.weights = random_integers<T>(inputs.weights.size(), random, 2);
    return inputs;
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsThreeInterpolateForwardProperties, Elements);

template <class T>
std::vector<T> result_of(const ThreeInterpolateForwardInputs<T>& inputs) {
  const Handle handle;
  const ThreeInterpolateForwardCall<T> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.results();
}

// <forward(f), g> = <f, backward(g)>.
TYPED_TEST(OpsThreeInterpolateForwardProperties, IsTheAdjointOfTheBackwardOperator) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const auto& s = inputs.sizes;
    const auto gradients = random_integers<T>(static_cast<size_t>(s.output_count()), this->random, 2);
    const RandomTeam team(this->random);
    const Handle handle;
    const ThreeInterpolateCall<T> backward(handle,
                                           {{s.B, s.C, s.N, s.M}, gradients, inputs.indices, inputs.weights});
    ASSERT_EQ(backward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto output = result_of(inputs);
    const auto grad_features = backward.output();
    double of_outputs = 0, of_features = 0;
    for (size_t i = 0; i < output.size(); ++i) of_outputs += double{to_f32(output[i])} * to_f32(gradients[i]);
    for (size_t i = 0; i < grad_features.size(); ++i) {
      of_features += double{to_f32(grad_features[i])} * to_f32(inputs.features[i]);
    }
    EXPECT_EQ(of_outputs, of_features);
  }
}

// With weights (1, 0, 0) the output is the gathered features.
TYPED_TEST(OpsThreeInterpolateForwardProperties, UnitWeightsGather) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    auto inputs = this->random_problem();
    for (size_t i = 0; i < inputs.weights.size(); ++i) inputs.weights[i] = rounded_to<T>(i % 3 == 0 ? 1 : 0);
    const auto& s = inputs.sizes;
    const RandomTeam team(this->random);
    const auto output = result_of(inputs);
    for (int64_t i = 0; i < s.output_count(); ++i) {
      const int64_t row = i / s.N, slot = (row / s.C * s.N + i % s.N) * 3;
      const int64_t feature = row * s.M + inputs.indices[static_cast<size_t>(slot)];
      ASSERT_EQ(to_f32(output[static_cast<size_t>(i)]), to_f32(inputs.features[static_cast<size_t>(feature)]));
    }
  }
}

// Points in another order have the same results in that order.
TYPED_TEST(OpsThreeInterpolateForwardProperties, PointsArePermuted) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const auto& s = inputs.sizes;
    const auto order = random_permutation(static_cast<int>(s.N), this->random);
    auto permuted = inputs;
    for (int64_t i = 0; i < s.index_count(); ++i) {
      const int64_t n = i / 3 % s.N;
      const auto from = static_cast<size_t>(i + (order[static_cast<size_t>(n)] - n) * 3);
      permuted.indices[static_cast<size_t>(i)] = inputs.indices[from];
      permuted.weights[static_cast<size_t>(i)] = inputs.weights[from];
    }
    const RandomTeam team(this->random);
    const auto output = result_of(inputs), output_of_permuted = result_of(permuted);
    for (int64_t i = 0; i < s.output_count(); ++i) {
      const int64_t n = i % s.N;
      ASSERT_TRUE(output_of_permuted[static_cast<size_t>(i)] ==
                  output[static_cast<size_t>(i - n + order[static_cast<size_t>(n)])]);
    }
  }
}

}  // namespace
}  // namespace mluop::test

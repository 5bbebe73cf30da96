// Properties of mluOpThreeNNForward that need no oracle. Coordinates are small integers, so that distances are
// exact and many are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "ops/three_nn_forward/call.h"
#include "ops/three_nn_forward/native/plan.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

template <class T>
class OpsThreeNNForwardProperties : public ::testing::Test {
 protected:
  // Half of the rounds search trees.
  ThreeNNInputs<T> random_problem(int round) {
    const int min_tree = static_cast<int>(three_nn_forward::native::kMinTreePoints);
    const int known = round % 2 == 0 ? random_size(random, 500) : min_tree + random_size(random, 3000);
    const ThreeNNSizes sizes = {random_size(random, 3), random_size(random, 100), known};
    // Half represents the integers up to 2048: 3 * 20^2 times 1.
    return {sizes, random_integers<T>(static_cast<size_t>(sizes.unknown_count()), random, 10),
            random_integers<T>(static_cast<size_t>(sizes.known_count()), random, 10)};
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsThreeNNForwardProperties, Elements);

template <class T>
ThreeNNOutputs<T> result_of(const ThreeNNInputs<T>& inputs) {
  const Handle handle;
  const ThreeNNCall<T> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.outputs();
}

// dist2 is the distance to the point that idx names, (dist2, idx) ascend, and every other known point comes after.
TYPED_TEST(OpsThreeNNForwardProperties, NoOtherPointIsNearer) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem(round);
    const auto& s = inputs.sizes;
    const RandomTeam team(this->random);
    const auto outputs = result_of(inputs);
    for (int64_t query = 0; query < s.B * s.N; ++query) {
      const auto neighbor = [&](int64_t m) {
        double distance = 0;
        for (int64_t dim = 0; dim < 3; ++dim) {
          const double difference = double{to_f32(inputs.unknown[static_cast<size_t>(query * 3 + dim)])} -
                                    to_f32(inputs.known[static_cast<size_t>((query / s.N * s.M + m) * 3 + dim)]);
          distance += difference * difference;
        }
        return std::pair(distance, m);
      };
      const auto found = static_cast<int64_t>(std::min<int64_t>(s.M, 3));
      for (int64_t k = 0; k < found; ++k) {
        const auto at = static_cast<size_t>(query * 3 + k);
        ASSERT_EQ(neighbor(outputs.idx[at]).first, to_f32(outputs.dist2[at]));
        if (k > 0) {
          ASSERT_LT(neighbor(outputs.idx[at - 1]), neighbor(outputs.idx[at]));
        }
      }
      const auto last = neighbor(outputs.idx[static_cast<size_t>(query * 3 + found - 1)]);
      int64_t not_after = 0;
      for (int64_t m = 0; m < s.M; ++m) not_after += neighbor(m) <= last ? 1 : 0;
      ASSERT_EQ(not_after, found);
    }
  }
}

// Translations by integers change nothing, and doubled coordinates have four times the squared distances.
TYPED_TEST(OpsThreeNNForwardProperties, TranslatedAndScaled) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem(round);
    auto moved = inputs, doubled = inputs;
    for (auto member : {&ThreeNNInputs<T>::unknown, &ThreeNNInputs<T>::known}) {
      for (size_t i = 0; i < (inputs.*member).size(); ++i) {
        const double value = to_f32((inputs.*member)[i]);
        (moved.*member)[i] = rounded_to<T>(value + static_cast<double>(i % 3 * 7) - 9);
        (doubled.*member)[i] = rounded_to<T>(value * 2);
      }
    }
    const RandomTeam team(this->random);
    const auto outputs = result_of(inputs), of_moved = result_of(moved), of_doubled = result_of(doubled);
    EXPECT_TRUE(of_moved.idx == outputs.idx);
    EXPECT_TRUE(of_moved.dist2 == outputs.dist2);
    EXPECT_TRUE(of_doubled.idx == outputs.idx);
    for (size_t i = 0; i < outputs.dist2.size(); ++i) {
      ASSERT_EQ(to_f32(of_doubled.dist2[i]), 4 * to_f32(outputs.dist2[i]));
    }
  }
}

// Known points in another order have the same distances.
TYPED_TEST(OpsThreeNNForwardProperties, KnownPointsArePermuted) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem(round);
    const auto& s = inputs.sizes;
    auto permuted = inputs;
    const auto order = random_permutation(static_cast<int>(s.M), this->random);
    for (int64_t i = 0; i < s.known_count(); ++i) {
      const int64_t m = i / 3 % s.M;
      permuted.known[static_cast<size_t>(i)] =
          inputs.known[static_cast<size_t>(i + (order[static_cast<size_t>(m)] - m) * 3)];
    }
    const RandomTeam team(this->random);
    EXPECT_TRUE(result_of(permuted).dist2 == result_of(inputs).dist2);
  }
}

}  // namespace
}  // namespace mluop::test

// Properties of mluOpBallQuery that need no oracle. Coordinates are small integers, so that distances are exact,
// and the radii are not among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/ball_query/call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 12;

template <class T>
class OpsBallQueryProperties : public ::testing::Test {
 protected:
  BallQueryInputs<T> random_problem() {
    const float max_radius = static_cast<float>(random_size(random, 15)) + 0.25F;
    const float min_radius = random() % 2 == 0 ? 0 : max_radius / 2;
    const BallQueryProblem problem = {random_size(random, 3),
                                      random_size(random, 100),
                                      random_size(random, 2000),
                                      random_size(random, 70),
                                      min_radius,
                                      max_radius};
    // Half represents the integers up to 2048: 3 * 20^2 times 1.
    return {problem, random_integers<T>(static_cast<size_t>(problem.centers_count()), random, 10),
            random_integers<T>(static_cast<size_t>(problem.points_count()), random, 10)};
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsBallQueryProperties, Elements);

template <class T>
std::vector<int32_t> result_of(const BallQueryInputs<T>& inputs) {
  const Handle handle;
  const BallQueryCall<T> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.result();
}

// The members of a row.
std::set<int32_t> members_of(const std::vector<int32_t>& idx, int64_t nsample, int64_t center) {
  std::set<int32_t> members(idx.begin() + center * nsample, idx.begin() + (center + 1) * nsample);
  members.erase(kNoMember);
  return members;
}

// Each row is its members in ascending order, then the first one; all are in the shell, and no earlier point that
// is left out is.
TYPED_TEST(OpsBallQueryProperties, FirstMembersInOrder) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const BallQueryProblem& p = inputs.problem;
    const RandomTeam team(this->random);
    const auto idx = result_of(inputs);
    for (int64_t center = 0; center < p.B * p.M; ++center) {
      const auto members = members_of(idx, p.nsample, center);
      std::vector<int32_t> row(members.begin(), members.end());
      row.resize(static_cast<size_t>(p.nsample), members.empty() ? kNoMember : *members.begin());
      ASSERT_TRUE(std::equal(row.begin(), row.end(), idx.begin() + center * p.nsample));
      const bool full = static_cast<int64_t>(members.size()) == p.nsample;
      const int64_t seen = full ? *members.rbegin() + 1 : p.N;
      for (int64_t n = 0; n < seen; ++n) {
        double d2 = 0;
        for (int64_t dim = 0; dim < 3; ++dim) {
          const double difference = double{to_f32(inputs.new_xyz[static_cast<size_t>(center * 3 + dim)])} -
                                    to_f32(inputs.xyz[static_cast<size_t>((center / p.M * p.N + n) * 3 + dim)]);
          d2 += difference * difference;
        }
        const double low = double{p.min_radius} * p.min_radius, high = double{p.max_radius} * p.max_radius;
        ASSERT_EQ(members.count(static_cast<int32_t>(n)) == 1, d2 == 0 || (d2 >= low && d2 < high));
      }
    }
  }
}

// Translations by integers, and coordinates and radii doubled together, change nothing.
TYPED_TEST(OpsBallQueryProperties, TranslatedAndScaled) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    auto moved = inputs, doubled = inputs;
    for (auto member : {&BallQueryInputs<T>::new_xyz, &BallQueryInputs<T>::xyz}) {
      for (size_t i = 0; i < (inputs.*member).size(); ++i) {
        const double value = to_f32((inputs.*member)[i]);
        (moved.*member)[i] = rounded_to<T>(value + static_cast<double>(i % 3 * 7) - 9);
        (doubled.*member)[i] = rounded_to<T>(value * 2);
      }
    }
    doubled.problem.min_radius *= 2;
    doubled.problem.max_radius *= 2;
    const RandomTeam team(this->random);
    const auto idx = result_of(inputs);
    EXPECT_TRUE(result_of(moved) == idx);
    EXPECT_TRUE(result_of(doubled) == idx);
  }
}

// Fewer samples are the first of more; a ball is divided into a smaller one and a shell.
TYPED_TEST(OpsBallQueryProperties, PrefixesAndShells) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    auto inputs = this->random_problem();
    BallQueryProblem& p = inputs.problem;
    p.min_radius = 0;
    const RandomTeam team(this->random);
    const int64_t nsample = p.nsample;
    const auto few = result_of(inputs);
    p.nsample = p.N;
    const auto all = result_of(inputs);
    const float radius = p.max_radius;
    p.max_radius = radius / 2;
    const auto inner = result_of(inputs);
    p.min_radius = radius / 2;
    p.max_radius = radius;
    const auto outer = result_of(inputs);
    for (int64_t center = 0; center < p.B * p.M; ++center) {
      const auto members = members_of(all, p.N, center);
      auto expected = members;
      while (static_cast<int64_t>(expected.size()) > nsample) expected.erase(std::prev(expected.end()));
      ASSERT_TRUE(members_of(few, nsample, center) == expected);
      auto united = members_of(inner, p.N, center);
      united.merge(members_of(outer, p.N, center));
      ASSERT_TRUE(united == members);
    }
  }
}

}  // namespace
}  // namespace mluop::test

// Properties of mluOpThreeNNForward that need no oracle. Coordinates are small integers, so that distances are
// exact and many are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "ops/three_nn_forward/native/plan.h"
#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

struct Problem {
  mluOpDataType_t dtype;
  int64_t B, N, M;
  std::vector<float> unknown, known;
};

// Half of the rounds search trees.
Problem random_problem(mluOpDataType_t dtype, int round, std::mt19937& random) {
  const int min_tree = static_cast<int>(three_nn_forward::native::kMinTreePoints);
  const int M = round % 2 == 0 ? random_size(random, 500) : min_tree + random_size(random, 3000);
  Problem problem{dtype, random_size(random, 3), random_size(random, 100), M, {}, {}};
  // Half represents the integers up to 2048: 3 * 20^2 times 1.
  problem.unknown = random_integers<float>(static_cast<size_t>(problem.B * problem.N * 3), random, 10);
  problem.known = random_integers<float>(static_cast<size_t>(problem.B * problem.M * 3), random, 10);
  return problem;
}

struct Neighbors {
  std::vector<float> dist2;
  std::vector<int32_t> idx;
};

Neighbors neighbors_of(const Problem& problem) {
  cases::Case made =
      make_case("three_nn_forward", problem.dtype, {{"b", problem.B}, {"n", problem.N}, {"m", problem.M}});
  set_values(made, "unknown", problem.unknown);
  set_values(made, "known", problem.known);
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return {call.floats("dist2"), call.int32s("idx")};
}

// Calls check(problem, random) for random problems in random teams.
void for_each_problem(const std::function<void(const Problem&, std::mt19937&)>& check) {
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(round);
      const Problem problem = random_problem(dtype, round, random);
      const RandomTeam team(random);
      check(problem, random);
    }
  }
}

// dist2 is the distance to the point that idx names, (dist2, idx) ascend, and every other known point comes after.
TEST(OpsThreeNNForwardProperties, NoOtherPointIsNearer) {
  for_each_problem([](const Problem& p, std::mt19937&) {
    const auto [dist2, idx] = neighbors_of(p);
    for (int64_t query = 0; query < p.B * p.N; ++query) {
      const auto neighbor = [&](int64_t m) {
        const float* from = p.unknown.data() + query * 3;
        const float* to = p.known.data() + (query / p.N * p.M + m) * 3;
        double distance = 0;
        for (int dim = 0; dim < 3; ++dim)
          distance += (double{from[dim]} - to[dim]) * (double{from[dim]} - to[dim]);
        return std::pair(distance, m);
      };
      const int64_t found = std::min<int64_t>(p.M, 3);
      for (int64_t k = 0; k < found; ++k) {
        const auto at = static_cast<size_t>(query * 3 + k);
        ASSERT_EQ(neighbor(idx[at]).first, dist2[at]);
        if (k > 0) {
          ASSERT_LT(neighbor(idx[at - 1]), neighbor(idx[at]));
        }
      }
      const auto last = neighbor(idx[static_cast<size_t>(query * 3 + found - 1)]);
      int64_t not_after = 0;
      for (int64_t m = 0; m < p.M; ++m) not_after += neighbor(m) <= last ? 1 : 0;
      ASSERT_EQ(not_after, found);
    }
  });
}

// Translations by integers change nothing, and doubled coordinates have four times the squared distances.
TEST(OpsThreeNNForwardProperties, TranslatedAndScaled) {
  for_each_problem([](const Problem& problem, std::mt19937&) {
    Problem moved = problem, doubled = problem;
    for (auto member : {&Problem::unknown, &Problem::known}) {
      for (size_t i = 0; i < (problem.*member).size(); ++i) {
        (moved.*member)[i] += static_cast<float>(i % 3 * 7) - 9;
        (doubled.*member)[i] *= 2;
      }
    }
    auto [dist2, idx] = neighbors_of(problem);
    const Neighbors of_moved = neighbors_of(moved), of_doubled = neighbors_of(doubled);
    EXPECT_EQ(of_moved.idx, idx);
    EXPECT_EQ(of_moved.dist2, dist2);
    EXPECT_EQ(of_doubled.idx, idx);
    for (float& distance : dist2) distance *= 4;
    EXPECT_EQ(of_doubled.dist2, dist2);
  });
}

// Known points in another order have the same distances.
TEST(OpsThreeNNForwardProperties, KnownPointsArePermuted) {
  for_each_problem([](const Problem& problem, std::mt19937& random) {
    Problem permuted = problem;
    const auto order = random_permutation(static_cast<int>(problem.M), random);
    for (int64_t i = 0; i < problem.B * problem.M; ++i) {
      const int64_t m = i % problem.M;
      const int64_t source = i - m + order[static_cast<size_t>(m)];
      std::copy_n(problem.known.data() + source * 3, 3, permuted.known.data() + i * 3);
    }
    EXPECT_EQ(neighbors_of(permuted).dist2, neighbors_of(problem).dist2);
  });
}

}  // namespace
}  // namespace mluop::test

// Properties of mluOpBallQuery that need no oracle. Coordinates are small integers, so that distances are exact,
// and the radii are not among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 12;
// What idx holds before a call, which remains in rows without a member.
constexpr int32_t kBeforeCall = -7;

struct Points {
  mluOpDataType_t dtype;
  int64_t B, M, N, nsample;
  double min_radius, max_radius;
  std::vector<float> new_xyz, xyz;
};

Points random_problem(mluOpDataType_t dtype, std::mt19937& random) {
  const double max_radius = random_size(random, 15) + 0.25;
  const double min_radius = random() % 2 == 0 ? 0 : max_radius / 2;
  Points problem{dtype,
                 random_size(random, 3),
                 random_size(random, 100),
                 random_size(random, 2000),
                 random_size(random, 70),
                 min_radius,
                 max_radius,
                 {},
                 {}};
  // Half represents the integers up to 2048: 3 * 20^2 times 1.
  problem.new_xyz = random_integers<float>(static_cast<size_t>(problem.B * problem.M * 3), random, 10);
  problem.xyz = random_integers<float>(static_cast<size_t>(problem.B * problem.N * 3), random, 10);
  return problem;
}

std::vector<int32_t> result_of(const Points& p) {
  cases::Case made =
      make_case("ball_query", p.dtype, {{"b", p.B}, {"m", p.M}, {"n", p.N}, {"nsample", p.nsample}});
  made.parameters.set_real("min_radius", p.min_radius);
  made.parameters.set_real("max_radius", p.max_radius);
  set_values(made, "new_xyz", p.new_xyz);
  set_values(made, "xyz", p.xyz);
  const Handle handle;
  OperatorCall call(handle, made);
  std::fill_n(call["idx"].as<int32_t>(), call["idx"].count(), kBeforeCall);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.int32s("idx");
}

// The members of a row.
std::set<int32_t> members_of(const std::vector<int32_t>& idx, int64_t nsample, int64_t center) {
  std::set<int32_t> members(idx.begin() + center * nsample, idx.begin() + (center + 1) * nsample);
  members.erase(kBeforeCall);
  return members;
}

// Calls check(problem) for random problems in random teams.
void for_each_problem(const std::function<void(Points&)>& check) {
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(round);
      Points problem = random_problem(dtype, random);
      const RandomTeam team(random);
      check(problem);
    }
  }
}

// Each row is its members in ascending order, then the first one; all are in the shell, and no earlier point that
// is left out is.
TEST(OpsBallQueryProperties, FirstMembersInOrder) {
  for_each_problem([](const Points& p) {
    const auto idx = result_of(p);
    for (int64_t center = 0; center < p.B * p.M; ++center) {
      const auto members = members_of(idx, p.nsample, center);
      std::vector<int32_t> row(members.begin(), members.end());
      row.resize(static_cast<size_t>(p.nsample), members.empty() ? kBeforeCall : *members.begin());
      ASSERT_TRUE(std::equal(row.begin(), row.end(), idx.begin() + center * p.nsample));
      const bool full = static_cast<int64_t>(members.size()) == p.nsample;
      const int64_t seen = full ? *members.rbegin() + 1 : p.N;
      const float* from = p.new_xyz.data() + center * 3;
      for (int64_t n = 0; n < seen; ++n) {
        const float* to = p.xyz.data() + (center / p.M * p.N + n) * 3;
        double d2 = 0;
        for (int dim = 0; dim < 3; ++dim) d2 += (double{from[dim]} - to[dim]) * (double{from[dim]} - to[dim]);
        const double low = p.min_radius * p.min_radius, high = p.max_radius * p.max_radius;
        ASSERT_EQ(members.count(static_cast<int32_t>(n)) == 1, d2 == 0 || (d2 >= low && d2 < high));
      }
    }
  });
}

// Translations by integers, and coordinates and radii doubled together, change nothing.
TEST(OpsBallQueryProperties, TranslatedAndScaled) {
  for_each_problem([](const Points& problem) {
    Points moved = problem, doubled = problem;
    for (auto member : {&Points::new_xyz, &Points::xyz}) {
      for (size_t i = 0; i < (problem.*member).size(); ++i) {
        (moved.*member)[i] += static_cast<float>(i % 3 * 7) - 9;
        (doubled.*member)[i] *= 2;
      }
    }
    doubled.min_radius *= 2;
    doubled.max_radius *= 2;
    const auto idx = result_of(problem);
    EXPECT_EQ(result_of(moved), idx);
    EXPECT_EQ(result_of(doubled), idx);
  });
}

// Fewer samples are the first of more; a ball is divided into a smaller one and a shell.
TEST(OpsBallQueryProperties, PrefixesAndShells) {
  for_each_problem([](Points& p) {
    p.min_radius = 0;
    const int64_t nsample = p.nsample;
    const auto few = result_of(p);
    p.nsample = p.N;
    const auto all = result_of(p);
    const double radius = p.max_radius;
    p.max_radius = radius / 2;
    const auto inner = result_of(p);
    p.min_radius = radius / 2;
    p.max_radius = radius;
    const auto outer = result_of(p);
    for (int64_t center = 0; center < p.B * p.M; ++center) {
      const auto members = members_of(all, p.N, center);
      auto expected = members;
      while (static_cast<int64_t>(expected.size()) > nsample) expected.erase(std::prev(expected.end()));
      ASSERT_EQ(members_of(few, nsample, center), expected);
      auto united = members_of(inner, p.N, center);
      united.merge(members_of(outer, p.N, center));
      ASSERT_EQ(united, members);
    }
  });
}

}  // namespace
}  // namespace mluop::test

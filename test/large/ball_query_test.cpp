// mluOpBallQuery with idx of more than 2^31 elements: every element against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "large/large_memory.h"
#include "ops/ball_query/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

TEST(LargeBallQuery, Idx) {
  MLUOP_REQUIRE_MEMORY(9);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const BallQueryProblem problem = {2, 5'600, 1'000, 192'000, 0.0F, 0.8F};
  ASSERT_GT(problem.idx_count(), int64_t{1} << 31);
  const auto inputs = random_ball_query<float>(problem, random);
  const LargeBuffer<int32_t> idx(problem.idx_count(), Pages::kDense);
  idx.poison();

  const Handle handle;
  const Descriptor centers_desc(MLUOP_DTYPE_FLOAT, {problem.B, problem.M, 3});
  const Descriptor points_desc(MLUOP_DTYPE_FLOAT, {problem.B, problem.N, 3});
  const Descriptor idx_desc(MLUOP_DTYPE_INT32, {problem.B, problem.M, problem.nsample});
  ASSERT_EQ(mluOpBallQuery(handle, centers_desc, inputs.new_xyz.data(), points_desc, inputs.xyz.data(),
                           problem.min_radius, problem.max_radius, static_cast<int>(problem.nsample), idx_desc,
                           idx.data()),
            MLUOP_STATUS_SUCCESS)
      << mluOpOmpGetLastError();

  const auto holds = [&](int64_t center) {
    BallQueryProblem of_center = problem;
    of_center.B = of_center.M = 1;
    const int32_t* row = idx.data() + center * problem.nsample;
    // As the row was before the call.
    std::vector<int32_t> expected(static_cast<size_t>(problem.nsample), static_cast<int32_t>(0xA5A5A5A5));
    reference::ball_query(of_center, inputs.new_xyz.data() + center * 3,
                          inputs.xyz.data() + center / problem.M * problem.N * 3, expected.data());
    return std::equal(expected.begin(), expected.end(), row);
  };
  EXPECT_EQ(first_violation(problem.B * problem.M, holds), problem.B * problem.M);
}

}  // namespace
}  // namespace mluop::test

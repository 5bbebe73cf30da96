// mluOpBallQuery against the serial loop of its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "ops/ball_query/call.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

template <class T>
void expect_idx(const BallQueryInputs<T>& inputs, const std::vector<int32_t>& expected,
                Placement placement = Placement::kAligned) {
  for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const BallQueryCall<T> call(handle, inputs, placement);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.result() == expected);
    EXPECT_TRUE(call.intact());
  }
}

template <class T>
void expect_reference(const BallQueryInputs<T>& inputs, Placement placement = Placement::kAligned) {
  expect_idx(inputs, ball_query_reference(inputs), placement);
}

BallQueryInputs<Half> in_half(const BallQueryInputs<float>& inputs) {
  BallQueryInputs<Half> halves{inputs.problem, {}, {}};
  for (const float value : inputs.new_xyz) halves.new_xyz.push_back(to_f16(value));
  for (const float value : inputs.xyz) halves.xyz.push_back(to_f16(value));
  return halves;
}

void expect_reference_in_both_types(const BallQueryInputs<float>& inputs,
                                    Placement placement = Placement::kAligned) {
  const BallQueryProblem& p = inputs.problem;
  SCOPED_TRACE(product_text({p.B, p.M, p.N, p.nsample}));
  expect_reference(inputs, placement);
  expect_reference(in_half(inputs), placement);
}

TEST(OpsBallQuery, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  // Vectors of points, groups of them, less and plus one; rows shorter and longer than a vector.
  for (const int64_t N : {1, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 65, 127, 129, 1000}) {
    for (const int64_t nsample : {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 200}) {
      expect_reference_in_both_types(random_ball_query<float>({2, 5, N, nsample, 0, 1}, random));
    }
  }
  expect_reference_in_both_types(random_ball_query<float>({70, 1, 9, 3, 0, 1}, random));
  expect_reference_in_both_types(random_ball_query<float>({1, 5000, 3, 2, 0.2F, 1}, random));
}

TEST(OpsBallQuery, Radii) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const std::pair<float, float> radii[] = {{0, 0.05F},     {0, 0.3F},
                                           {0, 1.2F},      {0, 10},
                                           {0.3F, 0.5F},   {0.9F, 1},
                                           {0.5F, 0.3F},   {0.4F, 0.4F},
                                           {0, 0},         {0.5F, 0},
                                           {0, kInfinity}, {kInfinity, 1},
                                           {1, kMax},      {kInfinity, kInfinity},
                                           {0, kTiny},     {kTiny, 0.2F},
                                           {0.1F, kTiny},  {-0.0F, 0.4F}};
  for (const auto& [min_radius, max_radius] : radii) {
    SCOPED_TRACE(testing::Message() << min_radius << " to " << max_radius);
    auto inputs = random_ball_query<float>({2, 60, 300, 20, min_radius, max_radius}, random);
    // Centers at points.
    std::copy_n(inputs.xyz.data() + 30, 60, inputs.new_xyz.data());
    expect_reference_in_both_types(inputs);
  }
}

TEST(OpsBallQuery, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t N : {50, 77, 128, 1003}) {
      expect_reference_in_both_types(random_ball_query<float>({2, 77, N, 19, 0, 0.8F}, random), placement);
    }
  }
}

TEST(OpsBallQuery, ThreadCounts) {
  auto random = seeded_random();
  const auto floats = random_ball_query<float>({3, 501, 2003, 16, 0.05F, 0.4F}, random);
  const auto halves = in_half(floats);
  const auto expected_floats = ball_query_reference(floats);
  const auto expected_halves = ball_query_reference(halves);
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_idx(floats, expected_floats);
    expect_idx(halves, expected_halves);
  }
}

TEST(OpsBallQuery, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto inputs = random_ball_query<float>({2, 100, 300, 10, 0, 0.5F}, random);
  for (const char* kib : {"1", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference_in_both_types(inputs);
  }
}

TEST(OpsBallQuery, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t points : {1000, 3, 5000, 1}) {
    const auto inputs = random_ball_query<float>({2, 50, points, 8, 0, 0.5F}, random);
    const BallQueryCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(call.result() == ball_query_reference(inputs));
  }
}

// Rows without a member keep their content, and others are padded with their first member.
TEST(OpsBallQuery, RowsWithoutMembers) {
  const BallQueryInputs<float> inputs{
      {1, 3, 3, 4, 0, 1}, {0, 0, 0, 9, 9, 9, 5, 0, 0}, {5, 0, 0, 4.5F, 0, 0, 0, 0, 0.5F}};
  expect_idx(inputs, {2, 2, 2, 2, kNoMember, kNoMember, kNoMember, kNoMember, 0, 1, 0, 0});
}

// The inner radius belongs to the shell, the outer one does not; a point at the center always does.
TEST(OpsBallQuery, Bounds) {
  const BallQueryInputs<float> inputs{
      {1, 1, 6, 6, 1, 2}, {0, 0, 0}, {0, 2, 0, 1, 0, 0, 0, 0, 0, 0.5F, 0, 0, 0, 0, 1.5F, 2, 0, 0}};
  expect_idx(inputs, {1, 2, 4, 1, 1, 1});
}

// Squares below the least subnormal number are 0: such points are at the center.
TEST(OpsBallQuery, Subnormals) {
  const BallQueryInputs<float> inputs{
      {1, 1, 3, 3, 1, 2}, {0, 0, 0}, {0x1p-70F, 0, 0, 0x1p-80F, 0, 0, 0, 0x1p-140F, 0}};
  expect_idx(inputs, {1, 2, 1});
}

// Every step is rounded to half: 45^2 = 2025, +25 = 2050, +1 = 2051 ties to 2052.
TEST(OpsBallQuery, StepsOfHalf) {
  BallQueryInputs<float> inputs{{1, 1, 3, 3, 0, 45.29F}, {0, 0, 0}, {45, 5, 1, 45, 5, 0, 256, 0, 0}};
  // 45.29^2 = 2051.2
  expect_idx(inputs, {0, 1, 0});
  expect_idx(in_half(inputs), {1, 1, 1});
}

// Distributions that are hostile to vectors and early ends. `place` changes the coordinates of point n.
struct Distribution {
  const char* name;
  std::function<void(float* point, int64_t n, std::mt19937& random)> place;
};

const Distribution kDistributions[] = {
    {"all equal", [](float* p, int64_t, auto&) { p[0] = p[1] = p[2] = 0.5F; }},
    {"the last is a member", [](float* p, int64_t n, auto&) { p[0] = p[1] = p[2] = n == 2999 ? 0.5F : 100; }},
    {"a member in each vector", [](float* p, int64_t n, auto&) { p[0] += n % 16 == 15 ? 0.0F : 50.0F; }},
    {"members at the ends", [](float* p, int64_t n, auto&) { p[0] += n < 5 || n > 2990 ? 0.0F : 50.0F; }},
    {"a small grid",
     [](float* p, int64_t, auto& random) {
       for (int i = 0; i < 3; ++i) p[i] = static_cast<float>(random() % 9) * 0.25F - 1;
     }},
    {"a plane", [](float* p, int64_t, auto&) { p[2] = 0; }},
    {"a line", [](float* p, int64_t, auto&) { p[0] = p[1] = 0.125F; }},
    {"a cluster and an outlier",
     [](float* p, int64_t n, auto&) {
       for (int i = 0; i < 3; ++i) p[i] = n == 77 ? 30000.0F : p[i] * 0x1p-6F;
     }},
    {"distances overflow",
     [](float* p, int64_t n, auto&) {
       if (n % 3 != 0) p[1] = n % 3 == 1 ? 60000.0F : -60000.0F;
     }},
    {"some are not finite",
     [](float* p, int64_t, auto& random) {
       const float specials[] = {kNan, kInfinity, -kInfinity};
       if (random() % 3 != 0) p[random() % 3] = specials[random() % 3];
     }},
    {"none is finite", [](float* p, int64_t n, auto&) { p[n % 3] = n % 2 == 0 ? kNan : kInfinity; }},
};

TEST(OpsBallQuery, Distributions) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const Distribution& distribution : kDistributions) {
    SCOPED_TRACE(distribution.name);
    for (const auto& [nsample, radius] : {std::pair{int64_t{5}, 0.3F}, {int64_t{64}, 1.0F}}) {
      auto inputs = random_ball_query<float>({2, 60, 3000, nsample, 0, radius}, random);
      for (int64_t n = 0; n < 6000; ++n) distribution.place(inputs.xyz.data() + n * 3, n % 3000, random);
      // Centers at points, and centers that are not finite.
      std::copy_n(inputs.xyz.data(), 60, inputs.new_xyz.data());
      for (const auto& [i, value] : {std::pair{70, kNan}, {81, kInfinity}, {95, -kInfinity}, {101, 3.0e38F}}) {
        inputs.new_xyz[static_cast<size_t>(i)] = value;
      }
      expect_reference_in_both_types(inputs);
    }
  }
}

TEST(OpsBallQuery, DocumentSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  expect_reference(random_ball_query<float>({16, 512, 1024, 32, 0, 0.2F}, random));
  expect_reference(random_ball_query<Half>({16, 128, 512, 64, 0, 0.4F}, random));
}

TEST(BigBallQuery, NetworkSizes) {
  auto random = seeded_random();
  // VoteNet, and PointRCNN.
  expect_reference_in_both_types(random_ball_query<float>({8, 2048, 20000, 64, 0, 0.1F}, random));
  expect_reference_in_both_types(random_ball_query<float>({2, 4096, 16384, 32, 0, 0.02F}, random));
}

}  // namespace
}  // namespace mluop::test

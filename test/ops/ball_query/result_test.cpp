// mluOpBallQuery against the serial loop of its definition, at sizes and with values that its kernels treat apart.
// test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "support/environment.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Problem {
  int64_t B, M, N, nsample;
  float min_radius, max_radius;
};

Case make(mluOpDataType_t dtype, const Problem& p) {
  Case made = make_case("ball_query", dtype, {{"b", p.B}, {"m", p.M}, {"n", p.N}, {"nsample", p.nsample}});
  made.parameters.set_real("min_radius", double{p.min_radius});
  made.parameters.set_real("max_radius", double{p.max_radius});
  return made;
}

Case make(mluOpDataType_t dtype, const Problem& p, const std::vector<float>& new_xyz,
          const std::vector<float>& xyz) {
  Case made = make(dtype, p);
  set_values(made, "new_xyz", new_xyz);
  set_values(made, "xyz", xyz);
  return made;
}

void expect_oracles(const Problem& p) {
  SCOPED_TRACE(product_text({p.B, p.M, p.N, p.nsample}));
  for (const auto dtype : kFloatingDtypes) expect_oracle(make(dtype, p), Placement::kAgainstEnd);
}

TEST(OpsBallQuery, HostileSizes) {
  const ScopedThreads threads(3);
  // Vectors of points, groups of them, less and plus one; rows shorter and longer than a vector.
  for (const int64_t N : {1, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 65, 127, 129, 1000}) {
    for (const int64_t nsample : {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 200}) {
      expect_oracles({2, 5, N, nsample, 0, 1});
    }
  }
  expect_oracles({70, 1, 9, 3, 0, 1});
  expect_oracles({1, 5000, 3, 2, 0.2F, 1});
  expect_oracles({3, 501, 2003, 16, 0.05F, 0.4F});
}

TEST(OpsBallQuery, Radii) {
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
    for (const auto dtype : kFloatingDtypes) {
      Case made = make(dtype, {2, 60, 300, 20, min_radius, max_radius});
      // Centers at points.
      const std::vector<float> xyz = floats_of(made, "xyz");
      std::vector<float> new_xyz = floats_of(made, "new_xyz");
      std::copy_n(xyz.data() + 30, 60, new_xyz.data());
      set_values(made, "new_xyz", new_xyz);
      expect_oracle(made);
    }
  }
}

// What idx holds before a call, which remains in rows without a member.
constexpr int32_t kNoMember = -7;

void expect_idx(const Case& made, const std::vector<int32_t>& expected) {
  const Handle handle;
  OperatorCall call(handle, made);
  std::fill_n(call["idx"].as<int32_t>(), expected.size(), kNoMember);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("idx"), expected);
  EXPECT_TRUE(call.intact());
  expect_oracle(made);
}

// Rows without a member keep their content, and others are padded with their first member.
TEST(OpsBallQuery, RowsWithoutMembers) {
  for (const auto dtype : kFloatingDtypes) {
    expect_idx(make(dtype, {1, 3, 3, 4, 0, 1}, {0, 0, 0, 9, 9, 9, 5, 0, 0}, {5, 0, 0, 4.5F, 0, 0, 0, 0, 0.5F}),
               {2, 2, 2, 2, kNoMember, kNoMember, kNoMember, kNoMember, 0, 1, 0, 0});
  }
}

// The inner radius belongs to the shell, the outer one does not; a point at the center always does.
TEST(OpsBallQuery, Bounds) {
  const std::vector<float> xyz = {0, 2, 0, 1, 0, 0, 0, 0, 0, 0.5F, 0, 0, 0, 0, 1.5F, 2, 0, 0};
  for (const auto dtype : kFloatingDtypes) {
    expect_idx(make(dtype, {1, 1, 6, 6, 1, 2}, {0, 0, 0}, xyz), {1, 2, 4, 1, 1, 1});
  }
}

// Squares below the least subnormal number are 0: such points are at the center.
TEST(OpsBallQuery, Subnormals) {
  const std::vector<float> xyz = {0x1p-70F, 0, 0, 0x1p-80F, 0, 0, 0, 0x1p-140F, 0};
  expect_idx(make(MLUOP_DTYPE_FLOAT, {1, 1, 3, 3, 1, 2}, {0, 0, 0}, xyz), {1, 2, 1});
}

// Every step is rounded to half: 45^2 = 2025, +25 = 2050, +1 = 2051 ties to 2052.
TEST(OpsBallQuery, StepsOfHalf) {
  const Problem problem = {1, 1, 3, 3, 0, 45.29F};  // 45.29^2 = 2051.2
  const std::vector<float> xyz = {45, 5, 1, 45, 5, 0, 256, 0, 0};
  expect_idx(make(MLUOP_DTYPE_FLOAT, problem, {0, 0, 0}, xyz), {0, 1, 0});
  expect_idx(make(MLUOP_DTYPE_HALF, problem, {0, 0, 0}, xyz), {1, 1, 1});
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
      const Problem problem = {2, 60, 3000, nsample, 0, radius};
      const Case fractions = make(MLUOP_DTYPE_FLOAT, problem);
      std::vector<float> new_xyz = floats_of(fractions, "new_xyz"), xyz = floats_of(fractions, "xyz");
      for (int64_t n = 0; n < 6000; ++n) distribution.place(xyz.data() + n * 3, n % 3000, random);
      // Centers at points, and centers that are not finite.
      std::copy_n(xyz.data(), 60, new_xyz.data());
      for (const auto& [i, value] : {std::pair{70, kNan}, {81, kInfinity}, {95, -kInfinity}, {101, 3.0e38F}}) {
        new_xyz[static_cast<size_t>(i)] = value;
      }
      for (const auto dtype : kFloatingDtypes) expect_oracle(make(dtype, problem, new_xyz, xyz));
    }
  }
}

TEST(OpsBallQuery, DocumentSizes) {
  const ScopedThreads threads(2);
  expect_oracle(make(MLUOP_DTYPE_FLOAT, {16, 512, 1024, 32, 0, 0.2F}));
  expect_oracle(make(MLUOP_DTYPE_HALF, {16, 128, 512, 64, 0, 0.4F}));
}

TEST(BigBallQuery, NetworkSizes) {
  // VoteNet, and PointRCNN.
  expect_oracles({8, 2048, 20000, 64, 0, 0.1F});
  expect_oracles({2, 4096, 16384, 32, 0, 0.02F});
}

}  // namespace
}  // namespace mluop::test

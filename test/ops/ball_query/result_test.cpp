// mluOpBallQuery against the serial loop of its definition, with sizes and values that take special paths in the
// kernels. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/point_distributions.h"
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

void expect_oracles(const Problem& p) {
  SCOPED_TRACE(product_text({p.B, p.M, p.N, p.nsample}));
  for (const auto dtype : kFloatingDtypes) expect_oracle(make(dtype, p), Placement::kAgainstEnd);
}

TEST(OpsBallQuery, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  // Fewer points than a vector, whole vectors, groups of vectors, and one more; rows shorter and longer than a
  // vector.
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
      // Centers coincide with points.
      const std::vector<float> xyz = floats_of(made, "xyz");
      std::vector<float> new_xyz = floats_of(made, "new_xyz");
      std::copy_n(xyz.data() + 30, 60, new_xyz.data());
      set_values(made, "new_xyz", new_xyz);
      expect_oracle(made);
    }
  }
}

// The contents of idx before a call; rows without a member keep them.
constexpr int32_t kBefore = -7;

struct Example {
  Problem problem;
  std::vector<float> new_xyz, xyz;
  std::vector<int32_t> idx_of_float, idx_of_half;
};

const Example kExamples[] = {
    // Rows without a member keep their content, and others are padded with their first member.
    {{2, 3, 2, 3, 0, 1},
     {0, 0, 0, 9, 9, 9, 5, 0, 0, 9, 9, 0, 0, 0, 0.25F, 5, 0, 0},
     {5, 0, 0, 4.5F, 0, 0, 9, 9, 0.5F, 0, 0, 0.5F},
     {kBefore, kBefore, kBefore, kBefore, kBefore, kBefore, 0, 1, 0, 0, 0, 0, 1, 1, 1, kBefore, kBefore, kBefore},
     {kBefore, kBefore, kBefore, kBefore, kBefore, kBefore, 0, 1, 0, 0, 0, 0, 1, 1, 1, kBefore, kBefore, kBefore}},
    // The inner radius belongs to the shell, the outer radius does not; a point at the center always belongs.
    {{1, 1, 6, 6, 1, 2},
     {0, 0, 0},
     {0, 2, 0, 1, 0, 0, 0, 0, 0, 0.5F, 0, 0, 0, 0, 1.5F, 2, 0, 0},
     {1, 2, 4, 1, 1, 1},
     {1, 2, 4, 1, 1, 1}},
    // Squares below the least subnormal number are 0: points that near are at the center. In half, all coordinates
    // are 0.
    {{1, 1, 3, 3, 1, 2}, {0, 0, 0}, {0x1p-70F, 0, 0, 0x1p-80F, 0, 0, 0, 0x1p-140F, 0}, {1, 2, 1}, {0, 1, 2}},
    // Every step is rounded to half: 45^2 = 2025, +25 = 2050, +1 = 2051 ties to 2052. The squared radius is
    // 2051.2.
    {{1, 1, 3, 3, 0, 45.29F}, {0, 0, 0}, {45, 5, 1, 45, 5, 0, 256, 0, 0}, {0, 1, 0}, {1, 1, 1}},
};

TEST(OpsBallQuery, WorkedExamples) {
  for (const Example& example : kExamples) {
    for (const auto dtype : kFloatingDtypes) {
      Case made = make(dtype, example.problem);
      set_values(made, "new_xyz", example.new_xyz);
      set_values(made, "xyz", example.xyz);
      const Handle handle;
      OperatorCall call(handle, made);
      std::fill_n(call["idx"].as<int32_t>(), call["idx"].count(), kBefore);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.int32s("idx"), dtype == MLUOP_DTYPE_HALF ? example.idx_of_half : example.idx_of_float);
      EXPECT_TRUE(call.intact());
      expect_oracle(made);
    }
  }
}

TEST(OpsBallQuery, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const PointDistribution& distribution : kPointDistributions) {
    SCOPED_TRACE(distribution.name);
    for (const auto dtype : kFloatingDtypes) {
      // The last: a grid of small cells.
      for (const auto& [nsample, radius] :
           {std::pair{int64_t{5}, 0.3F}, {int64_t{64}, 1.0F}, {int64_t{16}, 0.06F}}) {
        Case made = make(dtype, {2, 130, 3000, nsample, 0, radius});
        distribute(made, distribution, random);
        expect_oracle(made);
      }
    }
  }
}

// Distances equal radii and the sides of cells; centers are between points, at points, outside the cells and not
// finite.
TEST(OpsBallQuery, GridOfPointsAtTheRadius) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const std::pair<float, float> radii[] = {{0, 0.125F}, {0, 0.126F}, {0.0625F, 0.125F}, {0.1F, 0.125F}, {0, 0}};
  for (const auto& [min_radius, max_radius] : radii) {
    for (const int64_t nsample : {3, 7, 64}) {
      for (const auto dtype : kFloatingDtypes) {
        SCOPED_TRACE(testing::Message() << min_radius << " to " << max_radius << ", nsample " << nsample);
        Case made = make(dtype, {2, 300, 4000, nsample, min_radius, max_radius});
        std::vector<float> xyz(2 * 4000 * 3), new_xyz(2 * 300 * 3);
        for (float& coordinate : xyz) coordinate = static_cast<float>(random() % 33) * 0.0625F - 1;
        for (float& coordinate : new_xyz) coordinate = static_cast<float>(random() % 73) * 0.03125F - 1.125F;
        for (const auto& [i, value] : {std::pair{30, kNan}, {301, kInfinity}, {601, -kInfinity}, {900, 3.0e38F}}) {
          new_xyz[static_cast<size_t>(i)] = value;
          xyz[static_cast<size_t>(i)] = value;
        }
        set_values(made, "xyz", xyz);
        set_values(made, "new_xyz", new_xyz);
        expect_kernel(made, "move_points");
      }
    }
  }
}

// Among sparse points, a cluster that balls contain, of as many points as NRAM lists and more.
TEST(OpsBallQuery, GridWithCluster) {
  MLUOP_LABELS(kNotEmulated);
  for (const int64_t clustered : {47, 48, 49, 1023, 1024, 1025, 2500}) {
    SCOPED_TRACE(clustered);
    for (const int64_t nsample : {40, 8000}) {
      for (const auto dtype : kFloatingDtypes) {
        Case made = make(dtype, {1, 200, 8000, nsample, 0, 0.05F});
        std::vector<float> xyz = floats_of(made, "xyz"), new_xyz = floats_of(made, "new_xyz");
        // Every third point.
        for (size_t i = 0; i < static_cast<size_t>(clustered); ++i) std::fill_n(xyz.data() + i * 9, 3, 0.5F);
        std::fill_n(new_xyz.data(), 9, 0.51F);
        set_values(made, "xyz", xyz);
        set_values(made, "new_xyz", new_xyz);
        expect_kernel(made, "move_points");
      }
    }
  }
}

TEST(BigBallQuery, NetworkSizes) {
  // Sizes of VoteNet, with two scenes, and PointRCNN.
  expect_oracles({2, 2048, 20000, 64, 0, 0.1F});
  expect_oracles({2, 4096, 16384, 32, 0, 0.02F});
}

}  // namespace
}  // namespace mluop::test

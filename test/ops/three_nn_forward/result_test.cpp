// mluOpThreeNNForward against the serial loop of its definition, bit for bit, at sizes and with values that its
// kernels distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/three_nn_forward/three_nn_forward.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/point_distributions.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int64_t kTree = three_nn_forward::native::kMinTreePoints;

struct Sizes {
  int64_t B, N, M;
};

Case make(mluOpDataType_t dtype, const Sizes& s) {
  return make_case("three_nn_forward", dtype, {{"b", s.B}, {"n", s.N}, {"m", s.M}});
}

void expect_oracles(const std::vector<Sizes>& sizes) {
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& s : sizes) {
      SCOPED_TRACE(product_text({s.B, s.N, s.M}));
      const Case made = make(dtype, s);
      expect_oracle(made, Placement::kAgainstEnd);
    }
  }
}

TEST(OpsThreeNNForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  expect_oracles({
      {2, 17, 2},  // fewer known points than neighbors
      {70, 1, 9},
      {1, 5000, 3},
      {3, 1001, 203},
      // Numbers of points around the smallest tree, around whole blocks and nodes, another number of cells, and a
      // chunk.
      {2, 37, kTree - 1},
      {2, 37, kTree},
      {2, 37, kTree + 1},
      {2, 37, kTree + 15},
      {2, 37, kTree + 16},
      {2, 37, 2 * kTree - 1},
      {2, 37, 2 * kTree},
      {2, 37, 4095},
      {2, 37, 4096},
      {2, 37, 4097},
      {9, 1, kTree + 3},
      {1, 100, 70001},  // the largest number of cells, and a third level of nodes
  });
}

// Tasks share the chunks of points from which trees are built.
TEST(OpsThreeNNForward, TreesOfSeveralChunks) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) expect_oracle_everywhere(make(dtype, {2, 501, 9001}));
}

// NRAM holds fewer queries than a task has.
TEST(OpsThreeNNForward, SmallNram) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  for (const auto dtype : kFloatingDtypes) expect_oracle(make(dtype, {2, 400, kTree}));
}

// The workspace suffices for every number of threads, including numbers set after the query.
TEST(OpsThreeNNForward, WorkspaceOfFewerThreads) {
  MLUOP_LABELS(kNotEmulated);
  const Case made = make(MLUOP_DTYPE_HALF, {2, 400, kTree * 3});
  const Handle handle;
  const ScopedThreads one(1);
  const OperatorCall call(handle, made);
  const ScopedThreads many(64);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
  EXPECT_TRUE(call.intact());
}

TEST(OpsThreeNNForward, Distributions) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const PointDistribution& distribution : kPointDistributions) {
    SCOPED_TRACE(distribution.name);
    for (const auto dtype : kFloatingDtypes) {
      for (const int64_t M : {int64_t{800}, kTree * 3 + 5}) {
        SCOPED_TRACE(M);
        Case made = make(dtype, {2, 60, M});
        distribute(made, distribution, random);
        expect_oracle(made);
      }
    }
  }
}

// The neighbors of the origin among these known points, which `others` follow.
void expect_neighbors(mluOpDataType_t dtype, std::vector<float> known, int64_t M, float others,
                      const std::vector<float>& dist2, const std::vector<int32_t>& idx) {
  Case made = make(dtype, {1, 1, M});
  known.resize(static_cast<size_t>(3 * M), others);
  set_values(made, "unknown", std::vector<float>(3));
  set_values(made, "known", known);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("dist2"), dist2);
  EXPECT_EQ(call.int32s("idx"), idx);
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
}

// Ties go to the lower index, also across blocks, nodes and tasks.
TEST(OpsThreeNNForward, TiesGoToTheLowerIndex) {
  std::vector<float> known(60, 5);
  // On a sphere of squared radius 9, in reverse order of x.
  const float sphere[5][3] = {{3, 0, 0}, {2, 2, 1}, {1, 2, 2}, {0, 0, 3}, {-3, 0, 0}};
  for (size_t i = 0; i < 5; ++i) std::copy_n(sphere[i], 3, known.data() + (i * 4 + 1) * 3);
  for (const int64_t M : {int64_t{20}, kTree * 2}) {
    expect_neighbors(MLUOP_DTYPE_FLOAT, known, M, 5, {9, 9, 9}, {1, 5, 9});
  }
}

// Squares below the least subnormal number are 0; subnormal squares are kept.
TEST(OpsThreeNNForward, Subnormals) {
  for (const int64_t M : {int64_t{4}, kTree}) {
    std::vector<float> known = {0x1p-70F, 0, 0, 0x1p-80F, 0, 0, 0, 0x1p-140F, 0, 0, 0, 0};
    expect_neighbors(MLUOP_DTYPE_FLOAT, known, M, 1, {0, 0, 0}, {1, 2, 3});
    known[11] = 1;
    expect_neighbors(MLUOP_DTYPE_FLOAT, known, M, 1, {0, 0, 0x1p-140F}, {1, 2, 0});
  }
}

// The rounded sum of squares is the greatest float; with fused multiply-adds it is infinite.
TEST(OpsThreeNNForward, GreatestDistance) {
  std::vector<float> known(3, kInfinity);
  for (int i = 0; i < 3; ++i) known.insert(known.end(), {0x1.279a72p+63F, 0x1.279a7ap+63F, 0x1.279a70p+63F});
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const int64_t M : {int64_t{4}, kTree}) {
    expect_neighbors(MLUOP_DTYPE_FLOAT, known, M, kInfinity, {kMax, kMax, kMax}, {1, 2, 3});
  }
}

// Every step is rounded to half: 2049 - 0 is 2048, and the square overflows from 256 on.
TEST(OpsThreeNNForward, StepsOfHalf) {
  // 45^2 = 2025, +25 = 2050, +1 = 2051 ties to 2052; 45.03125^2 = 2027.8 is 2028; 2025 + 1 + 1 = 2027.
  expect_neighbors(MLUOP_DTYPE_HALF, {45, 5, 1, 45.03125F, 0, 0, 256, 0, 0, 45, 1, 1}, 4, 0, {2027, 2028, 2052},
                   {3, 1, 0});
}

TEST(BigThreeNNForward, DocumentSizes) { expect_oracles({{3, 4096, 1024}, {2, 16384, 4096}}); }

}  // namespace
}  // namespace mluop::test

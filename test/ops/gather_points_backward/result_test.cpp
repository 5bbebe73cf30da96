// mluOpOmpGatherPointsBackward against its definition, at sizes and with values that its kernel distinguishes.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/labels.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct GatherGradientSizes {
  int64_t B, C, M, N;   // batches, channels, points, features
  int64_t samples = 0;  // of each point; 0: indices have no such dimension
};

std::string text_of(const GatherGradientSizes& s) { return product_text({s.B, s.C, s.M, s.N, s.samples}); }

Case make_gradient(mluOpDataType_t dtype, const GatherGradientSizes& s) {
  return make_case("gather_points_backward", dtype,
                   {{"b", s.B}, {"c", s.C}, {"n", s.N}, {"m", s.M}, {"samples", s.samples}});
}

constexpr GatherGradientSizes kHostileGradients[] = {
    {5, 3, 64, 7},         // the points of a run
    {2, 20, 65, 40},       // the points of a run plus one
    {1, 7, 3000, 1},       // one feature of all points
    {1, 2, 3, 5000},       // most features have no point
    {1, 17, 0, 33},        // no point
    {70, 1, 9, 5},         // more batches than tasks
    {4, 40, 250, 203, 4},  // many work items
    {1, 9, 20001, 2003},   // few work items: tasks share the features
    // Indices are not copied if the points are whole squares and tasks do not share features.
    {2, 16, 64, 300},
    {3, 33, 128, 100},
    {1, 18, 3000, 5},  // many additions to a feature: only the order of the definition gives these bits
};

TEST(OpsGatherPointsBackward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) {
    for (const GatherGradientSizes& sizes : kHostileGradients) {
      SCOPED_TRACE(text_of(sizes));
      expect_oracle_everywhere(make_gradient(dtype, sizes));
    }
  }
}

// Outputs large enough for nontemporal stores, in fp32 also for software prefetch.
TEST(OpsGatherPointsBackward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_gradient(dtype, {2, 67, 66001, 3001});
    const Oracle oracle(made);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) expect_oracle(oracle, placement);
  }
}

// Tiles of the smallest NRAM and of larger ones: parts of the features, with remainders.
TEST(OpsGatherPointsBackward, NramSizes) {
  MLUOP_LABELS(kOnce, kSlow);
  for (const GatherGradientSizes& sizes :
       {GatherGradientSizes{2, 21, 3001, 555}, {1, 3, 20011, 70}, {2, 70, 9, 333}}) {
    SCOPED_TRACE(text_of(sizes));
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_gradient(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 3, 64}) {
        const ScopedThreads threads(count);
        for (const char* kib : {"16", "17", "24", "64", "640"}) {
          SCOPED_TRACE(std::to_string(count) + " threads, KiB " + kib);
          const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
          expect_oracle(oracle, Placement::kAgainstEnd);
        }
      }
    }
  }
}

TEST(OpsGatherPointsBackward, NramTooSmall) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  expect_errors(make_gradient(MLUOP_DTYPE_FLOAT, {2, 16, 50, 32}),
                {{no_change, "MLUOP_OMP_NRAM_KB is 1, expected room for the smallest tile: 12544 bytes",
                  MLUOP_STATUS_ALLOC_FAILED}});
}

std::vector<float> gradient_of(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  return call.floats("grad_features");
}

TEST(OpsGatherPointsBackward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t samples : {0, 2}) {
      Case made = make_gradient(dtype, {2, 2, samples == 0 ? 4 : 2, 3, samples});
      set_values(made, "grad_output", std::vector<float>{1, 2, 3, 4, 10, 20, 30, 40, 5, 6, 7, 8, 50, 60, 70, 80});
      set_values(made, "indices", std::vector<int32_t>{2, 0, 0, 2, 1, 1, 1, 1});
      EXPECT_EQ(gradient_of(made), (std::vector<float>{5, 0, 5, 50, 0, 50, 0, 26, 0, 0, 260, 0}));
    }
  }
}

// A case of one batch and channel, whose points have feature 0 of two.
Case one_sum(mluOpDataType_t dtype, const std::vector<float>& addends) {
  Case made = make_gradient(dtype, {1, 1, static_cast<int64_t>(addends.size()), 2});
  set_values(made, "grad_output", addends);
  set_values(made, "indices", std::vector<int32_t>(addends.size()));
  return made;
}

// 2^24 + 1 is 2^24 in fp32: the order of the points shows in the sum.
TEST(OpsGatherPointsBackward, OrderOfAdditions) {
  EXPECT_EQ(gradient_of(one_sum(MLUOP_DTYPE_FLOAT, {0x1p24F, 1, -0x1p24F}))[0], 0);
  EXPECT_EQ(gradient_of(one_sum(MLUOP_DTYPE_FLOAT, {0x1p24F, -0x1p24F, 1}))[0], 1);
}

// A sum of negative zeros is +0, because the initial value is +0; NaN and infinity affect only their own feature.
TEST(OpsGatherPointsBackward, SpecialValues) {
  for (const auto dtype : kFloatingDtypes) {
    EXPECT_TRUE(same_bits(gradient_of(one_sum(dtype, {-0.0F, -0.0F})), {0, 0}));
    EXPECT_TRUE(same_bits(gradient_of(one_sum(dtype, {kInfinity, 1})), {kInfinity, 0}));
    EXPECT_TRUE(same_bits(gradient_of(one_sum(dtype, {kInfinity, -kInfinity})), {kNan, 0}));
  }
}

// Overflow to infinity and ties.
TEST(OpsGatherPointsBackwardHalf, RoundsOnceToNearestEven) {
  for (const auto& [addends, factor, sum] : half_sums()) {
    if (factor != 1) continue;
    SCOPED_TRACE(sum);
    EXPECT_TRUE(same_bits(gradient_of(one_sum(MLUOP_DTYPE_HALF, {addends.begin(), addends.end()})),
                          {static_cast<float>(sum), 0}));
  }
}

}  // namespace
}  // namespace mluop::test

// mluOpThreeInterpolateForward against its definition, at sizes and with values that its kernels distinguish.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/three_interpolate_forward/three_interpolate_forward.h"
#include "ops/three_interpolate_forward/three_interpolate_forward_native_kernels.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

struct ForwardSizes {
  int64_t B, C, M, N;  // batches, channels, features, points
};

std::string text_of(const ForwardSizes& s) { return product_text({s.B, s.C, s.M, s.N}); }

// Features are in [-1, 1), weights in [0, 1), indices uniform.
Case make_forward(mluOpDataType_t dtype, const ForwardSizes& s) {
  return make_case("three_interpolate_forward", dtype, {{"b", s.B}, {"c", s.C}, {"m", s.M}, {"n", s.N}});
}

constexpr ForwardSizes kForwardSizes[] = {
    {2, 32, 33, 239},     // a chunk of points minus one
    {2, 32, 32, 240},     // a chunk of points
    {2, 32, 31, 241},     // a chunk of points plus one
    {2, 19, 64, 512},     // whole strips of points, a partial one of channels
    {1, 7, 1, 1000},      // one feature for all points
    {1, 2, 5000, 3},      // most features are in no slot
    {70, 1, 5, 9},        // more batches than tasks
    {1, 130, 9, 40},      // more strips than tasks
    {1, 3, 100, 2000},    // fewer strips than tasks
    {4, 40, 203, 1001},   // many work items, packed
    {1, 9, 203, 20001},   // few work items: tasks share a strip, packed
    {1, 2, 20001, 2003},  // and direct
    {16, 1, 1024, 128},   // whole chunks of points, direct
};

TEST(OpsThreeInterpolateForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) {
    for (const ForwardSizes& sizes : kForwardSizes) {
      SCOPED_TRACE(text_of(sizes));
      expect_oracle_everywhere(make_forward(dtype, sizes));
    }
  }
}

// Outputs large enough for nontemporal stores of the packed kernel and of the direct kernel.
TEST(OpsThreeInterpolateForward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const ForwardSizes& sizes : {ForwardSizes{2, 67, 100, 33001}, {2, 1, 100, 300001}}) {
    for (const auto dtype : kFloatingDtypes) {
      SCOPED_TRACE(text_of(sizes));
      const Case made = make_forward(dtype, sizes);
      const Oracle oracle(made);
      for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd})
        expect_oracle(oracle, placement);
    }
  }
}

// Chunks of points that the smallest NRAM limits, packed and direct.
TEST(OpsThreeInterpolateForward, SmallNram) {
  const ScopedThreads threads(2);
  for (const ForwardSizes& sizes : {ForwardSizes{2, 21, 17, 3001}, {2, 21, 555, 3001}, {1, 3, 2001, 70}}) {
    SCOPED_TRACE(text_of(sizes));
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_forward(dtype, sizes);
      const Oracle oracle(made);
      for (const char* kib : {"1", "2", "3", "8", "64", "384", "1024"}) {
        SCOPED_TRACE(kib);
        const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
        expect_oracle(oracle);
      }
    }
  }
}

TEST(OpsThreeInterpolateForward, PacksWhereItPays) {
  const ScopedThreads threads(2);
  const auto is_packed = [](const ForwardSizes& s, size_t nram_kib = 640) {
    Context context;
    context.nram_capacity = nram_kib * 1024;
    return three_interpolate_forward::native::make_plan(
               context, {s.B, s.C, s.M, s.N, MLUOP_DTYPE_FLOAT, nullptr, nullptr, nullptr, nullptr})
        .packed;
  };
  EXPECT_TRUE(is_packed({16, 128, 1024, 4096}));
  EXPECT_TRUE(is_packed({2, 16, 100, 1000}));
  EXPECT_FALSE(is_packed({2, 1, 100, 1000}));
  EXPECT_FALSE(is_packed({2, 16, 5000, 10}));
  EXPECT_FALSE(is_packed({2, 16, 1024, 40960}, 64));
  EXPECT_FALSE(is_packed({1, 16, int64_t{1} << 55, int64_t{1} << 55}));
}

std::vector<float> output_of(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  return call.floats("output");
}

// The output of one point with these features as neighbors and weights of 1.
float sum_of(mluOpDataType_t dtype, const std::vector<float>& features, const std::vector<int32_t>& indices) {
  Case made = make_forward(dtype, {1, 1, static_cast<int64_t>(features.size()), 1});
  set_values(made, "features", features);
  set_values(made, "indices", indices);
  set_values(made, "weights", std::vector<float>{1, 1, 1});
  return output_of(made)[0];
}

// A sum of products -0 is -0: there is no initial value.
TEST(OpsThreeInterpolateForward, NegativeZero) {
  for (const auto dtype : kFloatingDtypes) EXPECT_TRUE(same_bits(sum_of(dtype, {-0.0F, 1}, {0, 0, 0}), -0.0F));
}

// 2^24 + 1 is 2^24 in fp32: the order of the slots shows in the sum.
TEST(OpsThreeInterpolateForward, OrderOfAdditions) {
  const std::vector<float> features = {0x1p24F, 1, -0x1p24F};
  EXPECT_EQ(sum_of(MLUOP_DTYPE_FLOAT, features, {0, 1, 2}), 0);
  EXPECT_EQ(sum_of(MLUOP_DTYPE_FLOAT, features, {0, 2, 1}), 1);
}

TEST(OpsThreeInterpolateForward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_forward(dtype, {2, 2, 3, 2});
    set_values(made, "features", std::vector<float>{1, 2, 3, 10, 20, 30, 4, 5, 6, 7, 8, 9});
    set_values(made, "indices", std::vector<int32_t>{0, 1, 2, 2, 2, 0, 1, 1, 1, 0, 0, 0});
    set_values(made, "weights", std::vector<float>{1, 2, 3, 4, 5, 6, 1, 1, 1, 2, 0, -1});
    EXPECT_THAT(output_of(made), ::testing::ElementsAre(14, 33, 140, 330, 15, 4, 24, 7));
  }
}

}  // namespace
}  // namespace mluop::test

// mluOpThreeInterpolateBackward against its definition, at sizes and with values that its kernels distinguish.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/three_interpolate_backward/sizes.h"
#include "support/call_errors.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/labels.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr BackwardSizes kHostileSizes[] = {
    {5, 3, 256, 7},       // the points of a tile of weights
    {2, 20, 257, 40},     // the points of a tile of weights plus one
    {1, 7, 1000, 1},      // one feature for all points
    {1, 2, 3, 5000},      // most features are in no pair
    {70, 1, 9, 5},        // more batches than tasks
    {4, 40, 1001, 203},   // many work items
    {1, 9, 20001, 2003},  // few work items: tasks share the features
    // The sums of a single channel accumulate in the output in fp32, and each row is cleared during the additions
    // to the previous row. In half, and if tasks share the features of a batch, the sums accumulate in NRAM.
    {16, 1, 128, 1024},
    {9, 1, 65, 33},
    {1, 1, 300, 20001},
    // Indices are not copied if N is a multiple of the vector length and tasks do not share features.
    {2, 16, 4, 300},
    {3, 33, 8, 100},
    {2, 16, 16, 300},
    {3, 33, 64, 100},
    {2, 16, 80, 300},
    {3, 33, 128, 100},
    // Many channels and few features: the pairs are grouped, in tiles of 128 points and 64 channels.
    {1, 49, 1, 1},      // one point, whose pairs have one feature
    {2, 48, 127, 95},   // a tile minus one
    {2, 64, 128, 96},   // a tile, and the maximum of features
    {2, 65, 129, 97},   // a tile plus one; one feature above the maximum
    {3, 79, 300, 17},   // several tiles, pairs of a feature in each
    {9, 130, 40, 60},   // more features than pairs in a tile
    {1, 130, 40, 9},    // more tiles of channels than tasks
    {40, 112, 33, 2},   // many batches; tiles of 64 and of 48 channels
    {1, 200, 1000, 1},  // one feature for all points
    // Many additions to a feature, directly and in groups: only the order of the definition gives these bits.
    {1, 18, 3000, 5},
    {1, 52, 3000, 5},
};

TEST(OpsThreeInterpolateBackward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) {
    for (const BackwardSizes& sizes : kHostileSizes) {
      SCOPED_TRACE(text_of(sizes));
      expect_oracle_everywhere(make_backward(dtype, sizes));
    }
  }
}

// The first and the last features have no pair; all pairs of a tile have one feature.
TEST(OpsThreeInterpolateBackward, GroupedUnevenly) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_backward(dtype, {2, 50, 400, 40});
    std::vector<int32_t> indices = int32s_of(made, "indices");
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = i / 3 % 400 < 128 ? 7 : 5 + indices[i] % 30;
    set_values(made, "indices", indices);
    expect_oracle_everywhere(made);
  }
}

// Outputs large enough for nontemporal stores, in fp32 also for software prefetch.
TEST(OpsThreeInterpolateBackward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_backward(dtype, {2, 67, 100, 66001});
    const Oracle oracle(made);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE, placement)) << mluOpOmpGetLastError();
    }
  }
}

// Tiles of the smallest NRAM and of larger ones: parts of the features and channels, with remainders.
TEST(OpsThreeInterpolateBackward, NramSizes) {
  MLUOP_LABELS(kOnce, kSlow);
  for (const BackwardSizes& sizes : {BackwardSizes{2, 21, 555, 3001},
                                     {1, 3, 70, 20011},
                                     {2, 70, 333, 9},
                                     {3, 70, 100, 129},
                                     {1, 5, 300, 5003},
                                     {5, 130, 33, 64}}) {
    SCOPED_TRACE(text_of(sizes));
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_backward(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 3, 64}) {
        const ScopedThreads threads(count);
        for (const char* kib : {"16", "17", "20", "24", "64", "640"}) {
          SCOPED_TRACE(std::to_string(count) + " threads, KiB " + kib);
          const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
          expect_oracle(oracle, Placement::kAgainstEnd);
        }
      }
    }
  }
}

TEST(OpsThreeInterpolateBackward, NramTooSmall) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  for (const auto algorithm : kAlgorithms) {
    const std::string bytes = algorithm == MLUOP_OMP_ALGORITHM_DEVICE ? "5120" : "14080";
    expect_errors(make_backward(MLUOP_DTYPE_FLOAT, {2, 16, 50, 32}),
                  {{no_change, "MLUOP_OMP_NRAM_KB is 1, expected room for the smallest tile: " + bytes + " bytes",
                    MLUOP_STATUS_ALLOC_FAILED}},
                  {.algorithms = {algorithm}});
  }
}

TEST(OpsThreeInterpolateBackward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_backward(dtype, {2, 2, 2, 3});
    set_values(made, "grad_output", std::vector<float>{1, 10, 2, 20, 3, 5, 7, 11});
    set_values(made, "indices", std::vector<int32_t>{0, 1, 2, 2, 2, 0, 1, 1, 1, 0, 0, 0});
    set_values(made, "weights", std::vector<float>{1, 2, 3, 4, 5, 6, 1, 1, 1, 2, 0, -1});
    for (const auto algorithm : kAlgorithms) {
      EXPECT_THAT(backward_of(made, algorithm),
                  ::testing::ElementsAre(61, 2, 93, 122, 4, 186, 5, 9, 0, 11, 21, 0));
    }
  }
}

// A case of one batch and channel.
Case one_channel(mluOpDataType_t dtype, int64_t M, const std::vector<float>& gradients,
                 const std::vector<int32_t>& indices, const std::vector<float>& weights) {
  Case made = make_backward(dtype, {1, 1, static_cast<int64_t>(gradients.size()), M});
  set_values(made, "grad_output", gradients);
  set_values(made, "indices", indices);
  set_values(made, "weights", weights);
  return made;
}

// The native algorithm adds by point, then slot; the device algorithm by slot, then point. 2^24 + 1 is 2^24 in
// fp32, so the order shows in the sum: point 0 adds 2^24 in slot 0 and 1 in slot 1, point 1 adds -2^24 in slot 0.
TEST(OpsThreeInterpolateBackward, OrderOfAdditions) {
  const Case made = one_channel(MLUOP_DTYPE_FLOAT, 2, {1, 1}, {0, 0, 1, 0, 1, 1}, {0x1p24F, 1, 0, -0x1p24F, 0, 0});
  EXPECT_EQ(backward_of(made, MLUOP_OMP_ALGORITHM_NATIVE)[0], 0);
  EXPECT_EQ(backward_of(made, MLUOP_OMP_ALGORITHM_DEVICE)[0], 1);
}

void expect_bits(const Case& made, const std::vector<float>& expected) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_TRUE(same_bits(backward_of(made, algorithm), expected));
  }
}

// Weight 0 times infinity is NaN, only in the features of that point.
TEST(OpsThreeInterpolateBackward, InfinityOfWeightZero) {
  for (const auto dtype : kFloatingDtypes) {
    expect_bits(one_channel(dtype, 4, {kInfinity, 1}, {0, 1, 1, 2, 2, 2}, {1, 0, 0, 1, 1, 1}),
                {kInfinity, kNan, 3, 0});
  }
}

// A sum of negative zeros is +0, because the initial value is +0.
TEST(OpsThreeInterpolateBackward, NegativeZero) {
  for (const auto dtype : kFloatingDtypes) {
    expect_bits(one_channel(dtype, 2, {-0.0F}, {0, 0, 0}, {1, 1, 1}), {0, 0});
  }
}

// Overflow to infinity, subnormal sums and ties.
TEST(OpsThreeInterpolateBackwardHalf, RoundsOnceToNearestEven) {
  for (const auto& [addends, factor, sum] : half_sums()) {
    SCOPED_TRACE(sum);
    const std::vector<float> gradients(addends.begin(), addends.end());
    std::vector<int32_t> indices;
    std::vector<float> weights;
    for (size_t i = 0; i < gradients.size(); ++i) {
      indices.insert(indices.end(), {0, 1, 1});
      weights.insert(weights.end(), {static_cast<float>(factor), 0, 0});
    }
    expect_bits(one_channel(MLUOP_DTYPE_HALF, 2, gradients, indices, weights), {static_cast<float>(sum), 0});
  }
}

}  // namespace
}  // namespace mluop::test

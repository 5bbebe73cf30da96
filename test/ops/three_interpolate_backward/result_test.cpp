// mluOpThreeInterpolateBackward against its definition, at sizes and with values that its kernels treat apart.
// test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "case/metrics.h"
#include "ops/three_interpolate_backward/sizes.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/special_values.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

// A case of one batch and channel.
Case one_channel(mluOpDataType_t dtype, int64_t M, const std::vector<float>& gradients,
                 const std::vector<int32_t>& indices, const std::vector<float>& weights) {
  Case made = make_backward(dtype, {1, 1, static_cast<int64_t>(gradients.size()), M});
  set_values(made, "grad_output", gradients);
  set_values(made, "indices", indices);
  set_values(made, "weights", weights);
  return made;
}

constexpr BackwardSizes kHostileSizes[] = {
    {5, 3, 256, 7},       // the points of a tile of weights
    {2, 20, 257, 40},     // the points of a tile of weights plus one
    {1, 7, 1000, 1},      // one feature for all points
    {1, 2, 3, 5000},      // most features are in no pair
    {70, 1, 9, 5},        // more batches than tasks
    {4, 40, 1001, 203},   // many work items
    {1, 9, 20001, 2003},  // few work items: tasks share the features
    // The sums of a single channel accumulate in the output in fp32, and each row is cleared during the additions
    // to the previous one. In half, and if tasks share the features of a batch, the sums accumulate in NRAM.
    {16, 1, 128, 1024},
    {9, 1, 65, 33},
    {1, 1, 300, 5000},
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
};

TEST(OpsThreeInterpolateBackward, HostileSizes) {
  for (const auto dtype : kFloatingDtypes) {
    for (const BackwardSizes& sizes : kHostileSizes) {
      SCOPED_TRACE(text_of(sizes));
      expect_oracle_everywhere(make_backward(dtype, sizes));
    }
  }
}

// The first and the last features are in no pair; all pairs of a tile have one feature.
TEST(OpsThreeInterpolateBackward, GroupedUnevenly) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_backward(dtype, {2, 50, 400, 40});
    std::vector<int32_t> indices = int32s_of(made, "indices");
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = i / 3 % 400 < 128 ? 7 : 5 + indices[i] % 30;
    set_values(made, "indices", indices);
    expect_oracle_everywhere(made);
  }
}

// Outputs large enough for nontemporal stores, and in fp32 for software prefetch.
TEST(OpsThreeInterpolateBackward, StreamedOutputs) {
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_backward(dtype, {2, 67, 100, 66001});
    const Oracle oracle(made);
    for (const auto placement : kPlacements) expect_oracle(oracle, placement);
  }
}

// Tiles of the smallest NRAM and of larger ones: parts of the features and channels, with remainders.
TEST(OpsThreeInterpolateBackward, NramSizes) {
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

// The sums depend on the order of additions: only the order of the definition gives these bits, in every run.
TEST(OpsThreeInterpolateBackward, DeterministicOrder) {
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t channels : {18, 52}) {
      const Case made = with_values(make_backward(dtype, {1, channels, 3000, 5}), Values::kMagnitudes, 1);
      const Oracle oracle(made);
      for (int run = 0; run < 5; ++run) {
        for (const int count : {1, 2, 5, 16}) {
          const ScopedThreads threads(count);
          EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE));
        }
      }
    }
  }
}

// The native algorithm adds by point, then slot; the device algorithm by slot, then point. 2^24 + 1 is 2^24 in
// fp32, so the order shows in the sum: point 0 adds 2^24 in slot 0 and 1 in slot 1, point 1 adds -2^24 in slot 0.
TEST(OpsThreeInterpolateBackward, OrderOfAdditions) {
  const Case made = one_channel(MLUOP_DTYPE_FLOAT, 2, {1, 1}, {0, 0, 1, 0, 1, 1}, {0x1p24F, 1, 0, -0x1p24F, 0, 0});
  EXPECT_EQ(backward_of(made, MLUOP_OMP_ALGORITHM_NATIVE)[0], 0);
  EXPECT_EQ(backward_of(made, MLUOP_OMP_ALGORITHM_DEVICE)[0], 1);
}

// The bits of the serial loop are within the error bound of sums in double.
TEST(OpsThreeInterpolateBackward, AgainstSumsInDouble) {
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_backward(dtype, {2, 30, 2000, 50});
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    // The oracle compares results of the device algorithm with sums in double.
    EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_DEVICE));
  }
}

void expect_bits(const Case& made, const std::vector<float>& expected) {
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_TRUE(same_bits(backward_of(made, algorithm), expected));
  }
}

// Weight 0 times infinity is NaN, in the features of that point and in no others.
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

// Section 3.6 of the design document. errors_test.cpp tests its sizes without elements.
constexpr BackwardSizes kDocumentSizes[] = {
    {16, 512, 64, 16},  {16, 256, 256, 64},  {16, 256, 1024, 256}, {16, 16, 64, 512}, {16, 64, 256, 256},
    {16, 1, 128, 1024}, {16, 128, 512, 256}, {1, 1, 1, 1},         {7, 63, 129, 127},
};
// The larger ones are among test/cases.
constexpr BackwardSizes kLargeDocumentSizes[] = {{16, 128, 4096, 1024}, {15, 1025, 1023, 1023}};

TEST(OpsThreeInterpolateBackward, DocumentSizes) {
  const ScopedThreads threads(4);
  for (const auto dtype : kFloatingDtypes) {
    for (const BackwardSizes& sizes : kDocumentSizes) {
      SCOPED_TRACE(text_of(sizes));
      expect_oracle(make_backward(dtype, sizes), Placement::kMisaligned);
    }
  }
}

// Against the bits of the serial loop: the sums in double that an Oracle computes take gigabytes. The device
// algorithm has another order of additions.
TEST(BigThreeInterpolateBackward, DocumentSizes) {
  const ScopedThreads threads(4);
  for (const auto dtype : kFloatingDtypes) {
    const double threshold = dtype == MLUOP_DTYPE_FLOAT ? 1e-5 : 3e-3;
    for (const BackwardSizes& sizes : kLargeDocumentSizes) {
      const Case made = make_backward(dtype, sizes);
      const Handle native(MLUOP_OMP_ALGORITHM_NATIVE), device(MLUOP_OMP_ALGORITHM_DEVICE);
      OperatorCall expected(native, made);
      expected.expect_bits();
      const cases::Operand& bits = expected["grad_features"];
      const auto expect = [&](mluOpHandle_t handle, const std::vector<cases::Criterion>& criteria) {
        SCOPED_TRACE(text_of(sizes));
        const OperatorCall call(handle, made, Placement::kAgainstEnd);
        ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_TRUE(call.intact());
        const auto count = static_cast<size_t>(bits.count());
        const cases::Results results{dtype, count, call["grad_features"].data, bits.data, false};
        for (const auto& judgment : judge(results, criteria, cases::Verdict::kStrict)) {
          EXPECT_TRUE(judgment.passed) << judgment.value;
        }
      };
      expect(native, {{cases::Metric::kBits, 0}});
      expect(device, {{cases::Metric::kDiff1, threshold}, {cases::Metric::kDiff2, threshold}});
    }
  }
}

}  // namespace
}  // namespace mluop::test

// mluOpThreeInterpolateBackward against the serial loop of its definition: bit for bit in the native algorithm,
// and in the device algorithm where the order of additions does not matter. See device_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/three_interpolate_backward/call.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// For fp32 sums, and for their rounding to half, against sums in double. The acceptance standard allows 3e-3.
constexpr double kFloatTolerance = 1e-6;
constexpr double kHalfTolerance = 1e-3;

std::string name_of(const ThreeInterpolateSizes& s) { return product_text({s.B, s.C, s.N, s.M}); }

template <class T>
void expect_bits(const ThreeInterpolateInputs<T>& inputs, const std::vector<T>& expected, Placement placement) {
  const Handle handle;
  const ThreeInterpolateCall<T> call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  // The conversion to fp32 is exact, so equal bits of fp32 are equal bits of T.
  EXPECT_TRUE(same_bits(floats_of(call.output()), floats_of(expected)));
  EXPECT_TRUE(call.intact());
}

template <class T>
void expect_reference(const ThreeInterpolateInputs<T>& inputs, Placement placement = Placement::kAligned) {
  expect_bits(inputs, three_interpolate_reference(inputs), placement);
}

void expect_reference_in_both_types(const ThreeInterpolateSizes& sizes, std::mt19937& random,
                                    Placement placement = Placement::kAligned) {
  SCOPED_TRACE(name_of(sizes));
  expect_reference(random_three_interpolate<float>(sizes, random), placement);
  expect_reference(random_three_interpolate<Half>(sizes, random), placement);
}

constexpr ThreeInterpolateSizes kHostileSizes[] = {
    {1, 1, 1, 1},      // one of everything: all pairs have one feature
    {1, 1, 1, 3},      // a feature per pair
    {2, 15, 15, 15},   // a square tile minus one in every dimension
    {2, 16, 16, 16},   // a tile
    {2, 17, 17, 17},   // a tile plus one
    {3, 33, 47, 31},   // two tiles plus one, three minus one, two minus one
    {1, 4, 8, 4},      // tiles of 128-bit vectors
    {1, 5, 3, 2},      // fewer points than the smallest vector
    {5, 3, 256, 7},    // the points of a tile of weights
    {2, 20, 257, 40},  // the points of a tile of weights plus one
    {1, 7, 1000, 1},   // one feature for all points
    {1, 2, 3, 5000},   // most features are in no pair
    {70, 1, 9, 5},     // more batches than tasks
    {1, 130, 40, 9},   // more tiles of channels than tasks
};

TEST(OpsThreeInterpolateBackward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const ThreeInterpolateSizes& sizes : kHostileSizes) expect_reference_in_both_types(sizes, random);
}

// Many channels and few features: the pairs are grouped, in tiles of 128 points and 64 channels.
constexpr ThreeInterpolateSizes kGroupedSizes[] = {
    {1, 49, 1, 1},      // one point, whose pairs have one feature
    {2, 48, 127, 95},   // a tile minus one
    {2, 64, 128, 96},   // a tile, and the maximum of features
    {2, 65, 129, 97},   // a tile plus one; one feature above the maximum
    {3, 79, 300, 17},   // several tiles, pairs of a feature in each
    {9, 130, 40, 60},   // more features than pairs in a tile
    {40, 112, 33, 2},   // many batches; tiles of 64 and of 48 channels
    {1, 200, 1000, 1},  // one feature for all points
};

TEST(OpsThreeInterpolateBackward, Grouped) {
  auto random = seeded_random();
  for (const ThreeInterpolateSizes& sizes : kGroupedSizes) {
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_reference_in_both_types(sizes, random);
    }
  }
}

// The first and the last features are in no pair; all pairs of a tile have one feature.
TEST(OpsThreeInterpolateBackward, GroupedUnevenly) {
  auto random = seeded_random();
  auto inputs = random_three_interpolate<float>({2, 50, 400, 40}, random);
  for (size_t i = 0; i < inputs.indices.size(); ++i) {
    inputs.indices[i] = i / 3 % 400 < 128 ? 7 : 5 + inputs.indices[i] % 30;
  }
  for (const int count : {1, 3, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_reference(inputs);
  }
}

TEST(OpsThreeInterpolateBackward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t channels : {1, 16, 19, 32}) {
      expect_reference_in_both_types({2, channels, 123, 77}, random, placement);
      expect_reference_in_both_types({2, channels, 128, 64}, random, placement);
    }
    expect_reference_in_both_types({2, 83, 141, 77}, random, placement);
    expect_reference_in_both_types({2, 64, 256, 64}, random, placement);
  }
}

// Outputs large enough for nontemporal stores, and in fp32 for software prefetch.
TEST(OpsThreeInterpolateBackward, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
    expect_reference_in_both_types({2, 67, 100, 66001}, random, placement);
  }
}

// The sums of a single channel accumulate in the output in fp32, and each row is cleared during the additions to
// the previous one. In half, and if tasks share the features of a batch, the sums accumulate in NRAM.
TEST(OpsThreeInterpolateBackward, OneChannel) {
  auto random = seeded_random();
  for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_reference_in_both_types({16, 1, 128, 1024}, random, placement);
      expect_reference_in_both_types({9, 1, 65, 33}, random, placement);
      expect_reference_in_both_types({1, 1, 300, 5000}, random, placement);
    }
  }
}

// Indices are not copied if N is a multiple of the vector length and tasks do not share features.
TEST(OpsThreeInterpolateBackward, WholeVectorsOfPoints) {
  auto random = seeded_random();
  const ScopedThreads threads(1);
  for (const int64_t points : {4, 8, 16, 64, 80, 128}) {
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      expect_reference_in_both_types({2, 16, points, 300}, random, placement);
      expect_reference_in_both_types({3, 33, points, 100}, random, placement);
    }
  }
}

TEST(OpsThreeInterpolateBackward, ThreadCounts) {
  auto random = seeded_random();
  // Many work items, and few, where tasks share the features.
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{4, 40, 1001, 203}, {1, 9, 20001, 2003}}) {
    const auto floats = random_three_interpolate<float>(sizes, random);
    const auto halves = random_three_interpolate<Half>(sizes, random);
    const auto expected_floats = three_interpolate_reference(floats);
    const auto expected_halves = three_interpolate_reference(halves);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_bits(floats, expected_floats, Placement::kAligned);
      expect_bits(halves, expected_halves, Placement::kAligned);
    }
  }
}

// The sums depend on the order of additions: only the order of the definition gives these bits, in every run.
TEST(OpsThreeInterpolateBackward, DeterministicOrder) {
  auto random = seeded_random();
  std::uniform_int_distribution<int> exponent(-20, 20);
  for (const int64_t channels : {18, 52}) {
    auto inputs = random_three_interpolate<float>({1, channels, 3000, 5}, random);
    for (float& gradient : inputs.grad_output) gradient = std::ldexp(gradient, exponent(random));
    const auto expected = three_interpolate_reference(inputs);
    for (int run = 0; run < 5; ++run) {
      for (const int count : {1, 2, 5, 16}) {
        const ScopedThreads threads(count);
        expect_bits(inputs, expected, Placement::kAligned);
      }
    }
  }
}

TEST(OpsThreeInterpolateBackward, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const char* kib : {"16", "17", "24", "64", "384", "640", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference_in_both_types({2, 21, 555, 3001}, random);
    expect_reference_in_both_types({1, 3, 70, 20011}, random);
    expect_reference_in_both_types({2, 70, 333, 9}, random);
  }
}

// Consecutive calls of different sizes with one handle.
TEST(OpsThreeInterpolateBackward, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t points : {1000, 3, 5000, 1}) {
    const auto inputs = random_three_interpolate<float>({2, 19, points, points / 2 + 1}, random);
    const ThreeInterpolateCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(same_bits(call.output(), three_interpolate_reference(inputs)));
  }
}

TEST(OpsThreeInterpolateBackward, AgainstSumsInDouble) {
  auto random = seeded_random();
  const ThreeInterpolateSizes sizes{2, 30, 2000, 50};
  const auto check = [&](const auto& inputs, double tolerance) {
    std::vector<double> sums(static_cast<size_t>(sizes.grad_features_count()));
    reference::three_interpolate_backward(sizes, inputs.grad_output.data(), inputs.indices.data(),
                                          inputs.weights.data(), sums.data());
    const Handle handle;
    const ThreeInterpolateCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    const auto [diff1, diff2] =
        differences(floats_of(call.output()), std::vector<float>(sums.begin(), sums.end()));
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
  };
  check(random_three_interpolate<float>(sizes, random), kFloatTolerance);
  check(random_three_interpolate<Half>(sizes, random), kHalfTolerance);
}

TEST(OpsThreeInterpolateBackward, NanAndInfinity) {
  auto random = seeded_random();
  const float specials[] = {kNan, kInfinity, -kInfinity, -0.0F, 0x1p-149F, 0x1p-24F, 65504.0F};
  // The first sizes do not group pairs, the others do.
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{2, 18, 400, 100}, {2, 66, 400, 80}}) {
    auto floats = random_three_interpolate<float>(sizes, random);
    auto halves = random_three_interpolate<Half>(sizes, random);
    for (size_t i = 0; i < floats.grad_output.size(); i += 97) {
      floats.grad_output[i] = specials[i / 97 % std::size(specials)];
      halves.grad_output[i] = to_f16(specials[i / 97 % std::size(specials)]);
    }
    for (size_t i = 0; i < floats.weights.size(); i += 101) {
      floats.weights[i] = specials[i / 101 % std::size(specials)];
      halves.weights[i] = to_f16(specials[i / 101 % std::size(specials)]);
    }
    expect_reference(floats);
    expect_reference(halves);
  }
}

// Weight 0 times infinity is NaN, in the features of that point and in no others.
TEST(OpsThreeInterpolateBackward, InfinityOfWeightZero) {
  const ThreeInterpolateInputs<float> inputs{{1, 1, 2, 4}, {kInfinity, 1}, {0, 1, 1, 2, 2, 2}, {1, 0, 0, 1, 1, 1}};
  for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const ThreeInterpolateCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(same_bits(call.output(), {kInfinity, kNan, 3, 0}));
  }
}

// A sum of negative zeros is +0, because the initial value is +0.
TEST(OpsThreeInterpolateBackward, NegativeZero) {
  const ThreeInterpolateInputs<float> inputs{{1, 1, 1, 2}, {-0.0F}, {0, 0, 0}, {1, 1, 1}};
  for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    const Handle handle(algorithm);
    const ThreeInterpolateCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(same_bits(call.output(), {0, 0}));
  }
}

TEST(OpsThreeInterpolateBackward, LimitsOfHalf) {
  for (const auto& [gradients, weight, sum] : half_sums()) {
    SCOPED_TRACE(sum);
    ThreeInterpolateInputs<Half> inputs{{1, 1, static_cast<int64_t>(gradients.size()), 2}, {}, {}, {}};
    for (const double gradient : gradients) {
      inputs.grad_output.push_back(to_f16(gradient));
      inputs.indices.insert(inputs.indices.end(), {0, 1, 1});
      inputs.weights.insert(inputs.weights.end(), {to_f16(weight), to_f16(0), to_f16(0)});
    }
    for (const mluOpOmpAlgorithm_t algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const Handle handle(algorithm);
      const ThreeInterpolateCall<Half> call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
      EXPECT_EQ(to_f32(call.output()[0]), sum);
    }
  }
}

// Section 3.6 of the design document. errors_test.cpp tests its sizes without elements.
constexpr ThreeInterpolateSizes kDocumentSizes[] = {
    {16, 512, 64, 16},  {16, 256, 256, 64},  {16, 256, 1024, 256}, {16, 16, 64, 512}, {16, 64, 256, 256},
    {16, 1, 128, 1024}, {16, 128, 512, 256}, {1, 1, 1, 1},         {7, 63, 129, 127},
};
constexpr ThreeInterpolateSizes kLargeDocumentSizes[] = {
    {16, 128, 4096, 1024},  {16, 1024, 4096, 128},  {16, 512, 2048, 128},
    {15, 1025, 1023, 1023}, {25, 1029, 1025, 1027}, {29, 2047, 999, 2033},
};

TEST(OpsThreeInterpolateBackward, DocumentSizes) {
  auto random = seeded_random();
  for (const ThreeInterpolateSizes& sizes : kDocumentSizes) expect_reference_in_both_types(sizes, random);
}

TEST(BigThreeInterpolateBackward, DocumentSizes) {
  auto random = seeded_random();
  for (const ThreeInterpolateSizes& sizes : kLargeDocumentSizes) {
    expect_reference_in_both_types(sizes, random, Placement::kAgainstEnd);
  }
}

}  // namespace
}  // namespace mluop::test

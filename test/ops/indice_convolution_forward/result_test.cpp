// mluOpIndiceConvolutionForward against the loops of its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/indice_convolution_forward/call.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// For fp32 sums, and for their rounding to half, against sums in double. The acceptance standard allows 1e-5 and
// 3e-3.
constexpr double kFloatTolerance = 1e-5;
constexpr double kHalfTolerance = 1e-3;

std::string name_of(const IndiceConvolutionSizes& s) {
  return product_text({s.num_act_in, s.num_act_out, s.Ci, s.Co, s.D, s.H, s.W});
}

// For inputs whose sums are exact in every order.
template <class T>
void expect_exact(const IndiceConvolutionInputs<T>& inputs, Placement placement = Placement::kAligned) {
  const auto expected = indice_convolution_reference(inputs);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    EXPECT_TRUE(same_bits(indice_convolution_result(inputs, algorithm, placement), expected));
  }
}

// Random inputs in both data types.
void expect_exact(const IndiceConvolutionSizes& sizes, FilterLayout layout, std::mt19937& random,
                  Placement placement = Placement::kAligned) {
  SCOPED_TRACE(name_of(sizes) + " layout " + std::to_string(static_cast<int>(layout)));
  expect_exact(random_indice_convolution<float>(sizes, layout, random), placement);
  expect_exact(random_indice_convolution<Half>(sizes, layout, random), placement);
}

constexpr IndiceConvolutionSizes kHostileSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},          // one of everything
    {2, 3, 1, 1, 3, 3, 3},          // more filter offsets than rows
    {17, 40, 3, 5, 3, 3, 3},        // fewer channels than the smallest vector
    {100, 7, 5, 3, 1, 3, 3},        // outputs with many pairs per filter offset
    {200, 90, 16, 16, 3, 3, 3},     // a vector of channels
    {150, 300, 17, 16, 2, 2, 2},    // a vector of input channels plus one
    {150, 300, 16, 17, 3, 1, 1},    // a vector of output channels plus one
    {64, 64, 15, 33, 1, 1, 3},      // a vector minus one; two plus one
    {65, 63, 128, 128, 3, 1, 1},    // channels of the network
    {70, 80, 64, 112, 3, 3, 1},     // blocks of several vectors, and a tail
    {50, 60, 256, 1, 3, 3, 3},      // long sums, one output channel
    {50, 60, 1, 256, 3, 3, 3},      // sums of one product
    {40, 41, 17, 255, 1, 2, 3},     // a long odd row
    {90, 80, 300, 310, 3, 3, 1},    // few rows, wide filters
    {40, 50, 3000, 90, 1, 1, 2},    // filters that no tile packs
    {30, 2000, 4, 31, 3, 3, 3},     // most outputs have no pair
    {3000, 1, 8, 8, 1, 1, 2},       // one output for all pairs
    {1, 500, 64, 64, 5, 5, 5},      // one input for all pairs
    {9, 9, 700, 20, 1, 1, 2},       // long sums
    {5, 6, 20, 1100, 1, 2, 1},      // long rows
    {40000, 30000, 2, 3, 1, 3, 3},  // filter offsets with many pairs
    {20000, 16000, 2, 3, 2, 1, 1},  // short rows, many tiles
};

TEST(OpsIndiceConvolutionForward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndiceConvolutionSizes& sizes : kHostileSizes) {
    for (const FilterLayout layout : kFilterLayouts) expect_exact(sizes, layout, random);
  }
}

TEST(OpsIndiceConvolutionForward, Channels) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const int64_t Ci : {1, 3, 5, 16, 17, 128, 256}) {
    for (const int64_t Co : {1, 3, 5, 16, 17, 128, 256}) {
      expect_exact({45, 50, Ci, Co, 1, 3, 1}, FilterLayout::kNdhwc, random);
    }
  }
}

TEST(OpsIndiceConvolutionForward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const FilterLayout layout : kFilterLayouts) {
      for (const int64_t Co : {1, 16, 31, 64})
        expect_exact({333, 350, Co, Co, 1, 3, 3}, layout, random, placement);
    }
  }
}

// Outputs large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsIndiceConvolutionForward, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t Co : {32, 37})
      expect_exact({3000, 140000, 4, Co, 1, 1, 2}, FilterLayout::kArray, random, placement);
  }
}

TEST(OpsIndiceConvolutionForward, ThreadCounts) {
  auto random = seeded_random();
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_exact({5001, 4003, 18, 35, 3, 1, 3}, FilterLayout::kNdhwc, random);
  }
}

TEST(OpsIndiceConvolutionForward, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "2", "16", "17", "64", "384", "640", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_exact({900, 2500, 33, 70, 3, 3, 1}, FilterLayout::kNcdhw, random);
    expect_exact({60, 50, 256, 256, 1, 1, 3}, FilterLayout::kNdhwc, random);
  }
}

TEST(OpsIndiceConvolutionForward, AgainstSumsInDouble) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const auto check = [&](auto inputs, double tolerance) {
    make_fractional(inputs, random);
    const auto sums = indice_convolution_sums(inputs);
    for (const auto algorithm : kAlgorithms) {
      const auto [diff1, diff2] =
          differences(indice_convolution_result(inputs, algorithm), std::vector<float>(sums.begin(), sums.end()));
      EXPECT_LE(diff1, tolerance);
      EXPECT_LE(diff2, tolerance);
    }
  };
  const IndiceConvolutionSizes sizes{2000, 500, 40, 30, 3, 3, 3};
  check(random_indice_convolution<float>(sizes, FilterLayout::kNdhwc, random), kFloatTolerance);
  check(random_indice_convolution<Half>(sizes, FilterLayout::kNdhwc, random), kHalfTolerance);
}

// Consecutive calls of different sizes and algorithms with one handle.
TEST(OpsIndiceConvolutionForward, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t rows : {1000, 3, 5000, 1}) {
    const auto inputs =
        random_indice_convolution<float>({rows, rows / 2 + 1, 19, 35, 1, 3, 3}, FilterLayout::kNdhwc, random);
    const auto expected = indice_convolution_reference(inputs);
    for (const auto algorithm : kAlgorithms) {
      require(mluOpOmpSetAlgorithm(handle, algorithm));
      const IndiceConvolutionCall<float> call(handle, inputs);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(same_bits(call.output(), expected));
    }
  }
}

TEST(OpsIndiceConvolutionForward, SubmanifoldFlagChangesNothing) {
  auto random = seeded_random();
  const auto inputs = random_indice_convolution<float>({300, 300, 8, 24, 3, 3, 3}, FilterLayout::kNdhwc, random);
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    IndiceConvolutionCall<float> call(handle, inputs);
    call.sub_m = 1;
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.output(), indice_convolution_reference(inputs)));
  }
}

// Special values propagate to the rows and channels of the definition, and to no others.
template <class T>
void expect_specials_propagate(std::mt19937& random) {
  for (const int64_t channels : {5, 16, 49}) {
    auto inputs =
        random_indice_convolution<T>({400, 900, channels, channels, 3, 1, 1}, FilterLayout::kNdhwc, random);
    const T specials[] = {rounded_to<T>(kNan), rounded_to<T>(kInfinity), rounded_to<T>(-kInfinity)};
    for (size_t i = 0; i < inputs.features.size(); i += 997) inputs.features[i] = specials[i % 3];
    expect_exact(inputs);
    // One weight of one filter offset: a channel of the output rows of this offset.
    inputs.filters[static_cast<size_t>((2 * 3 + 1) * channels)] = specials[0];
    expect_exact(inputs, Placement::kAgainstEnd);
  }
}

TEST(OpsIndiceConvolutionForward, NanAndInfinity) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  expect_specials_propagate<float>(random);
  expect_specials_propagate<Half>(random);
}

// Padding of registers and tiles does not multiply rows that are in no pair: 0 * NaN would be NaN.
TEST(OpsIndiceConvolutionForward, NanInRowsOfNoPair) {
  auto random = seeded_random();
  constexpr int64_t kRowCount = 61, kChannels = 20;
  auto inputs = random_indice_convolution<float>({kRowCount, 70, kChannels, kChannels, 3, 3, 3},
                                                 FilterLayout::kNdhwc, random);
  // All pairs name even rows.
  for (size_t i = 0; i < inputs.indice_pairs.size(); ++i) {
    if (i / kRowCount % 2 == 0) inputs.indice_pairs[i] &= ~1;
  }
  for (int64_t row = 1; row < kRowCount; row += 2) {
    std::fill_n(inputs.features.begin() + row * kChannels, kChannels, kNan);
  }
  const auto expected = indice_convolution_reference(inputs);
  EXPECT_EQ(std::count_if(expected.begin(), expected.end(), [](float x) { return std::isnan(x); }), 0);
  expect_exact(inputs);
}

TEST(OpsIndiceConvolutionForward, LimitsOfHalf) {
  for (const auto& [features, weight, sum] : half_sums()) {
    SCOPED_TRACE(sum);
    const auto rows = static_cast<int64_t>(features.size());
    IndiceConvolutionInputs<Half> inputs{{rows, 1, 1, 1, 1, 1, 1}, FilterLayout::kArray, {}, {}, {}, {rows}};
    for (const double feature : features) inputs.features.push_back(to_f16(feature));
    inputs.filters.push_back(to_f16(weight));
    for (int32_t l = 0; l < rows; ++l) inputs.indice_pairs.push_back(l);
    inputs.indice_pairs.resize(features.size() * 2, 0);
    for (const auto algorithm : kAlgorithms)
      EXPECT_EQ(indice_convolution_result(inputs, algorithm)[0], sum) << algorithm;
  }
}

// Without pairs, the output is 0.
TEST(OpsIndiceConvolutionForward, NoPairs) {
  auto random = seeded_random();
  auto inputs = random_indice_convolution<float>({50, 70, 6, 9, 3, 3, 3}, FilterLayout::kNdhwc, random);
  std::fill(inputs.indice_num.begin(), inputs.indice_num.end(), 0);
  expect_exact(inputs);
  inputs = random_indice_convolution<float>({50, 70, 6, 9, 3, 3, 3}, FilterLayout::kNdhwc, random);
  std::fill(inputs.indice_pairs.begin(), inputs.indice_pairs.end(), -1);
  expect_exact(inputs);
}

// Without input rows the output is 0; without output rows it is empty. Both need no workspace.
TEST(OpsIndiceConvolutionForward, EmptyTensors) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    for (const auto& [rows_in, rows_out] : {std::pair{0, 40}, {30, 0}, {0, 0}}) {
      const IndiceConvolutionSizes sizes{rows_in, rows_out, 6, 9, 3, 3, 3};
      IndiceConvolutionInputs<Half> inputs{sizes, FilterLayout::kNcdhw, {}, {}, {}, std::vector<int64_t>(27)};
      inputs.features.resize(static_cast<size_t>(sizes.features_count()));
      inputs.filters.resize(static_cast<size_t>(sizes.filters_count()));
      inputs.indice_pairs.resize(static_cast<size_t>(sizes.pairs_count()));
      IndiceConvolutionCall<Half> call(handle, inputs);
      EXPECT_EQ(call.workspace_size, 0U);
      call.workspace = nullptr;
      if (rows_in == 0) call.features = call.indice_pairs = nullptr;
      if (rows_out == 0) call.features_out = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.output(), std::vector<float>(static_cast<size_t>(rows_out * 9)));
      EXPECT_TRUE(call.intact());
    }
  }
}

}  // namespace
}  // namespace mluop::test

// mluOpIndiceConvolutionForward in the native algorithm: the order of additions does not depend on the number of
// tasks, the size of NRAM or the addresses.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>

#include "ops/indice_convolution_forward/call.h"
#include "support/compare.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr auto kAlgorithm = MLUOP_OMP_ALGORITHM_NATIVE;

// With fractional values, another order of additions gives other bits.
constexpr IndiceConvolutionSizes kSizes[] = {
    {1500, 1200, 19, 21, 3, 3, 1},  // rows that are not a multiple of a vector
    {2000, 100, 40, 64, 1, 1, 3},   // outputs with 20 pairs per filter offset
    {700, 900, 150, 48, 3, 1, 1},   // rows that do not fit a small NRAM
    {90, 30, 1100, 17, 1, 1, 2},    // long rows; outputs with several pairs per filter offset
    {900, 7, 35, 70, 1, 1, 2},      // fewer outputs than a chunk has pairs
    {300, 1, 20, 33, 1, 1, 2},      // one output
};

template <class T>
void expect_invariant_bits(const IndiceConvolutionSizes& sizes, FilterLayout layout, std::mt19937& random) {
  auto inputs = random_indice_convolution<T>(sizes, layout, random);
  make_fractional(inputs, random);
  const auto expected = indice_convolution_result(inputs, kAlgorithm);
  for (const char* kib : {"1", "16", "100", "640"}) {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(std::string(kib) + " KiB, threads: " + std::to_string(count));
      const ScopedThreads threads(count);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned}) {
        EXPECT_TRUE(same_bits(indice_convolution_result(inputs, kAlgorithm, placement), expected));
      }
    }
  }
}

TEST(OpsIndiceConvolutionForwardOrder, InvariantBits) {
  auto random = seeded_random();
  for (const IndiceConvolutionSizes& sizes : kSizes) {
    SCOPED_TRACE(sizes.Ci);
    expect_invariant_bits<float>(sizes, FilterLayout::kNdhwc, random);
    expect_invariant_bits<Half>(sizes, FilterLayout::kArray, random);
  }
}

// The sums in fp32 in the order that the header specifies: an element adds its products by k, l and ci.
std::vector<float> ordered_sums(const IndiceConvolutionInputs<float>& inputs, bool fused) {
  const IndiceConvolutionSizes& s = inputs.sizes;
  std::vector<float> sums(static_cast<size_t>(s.features_out_count()));
  const int32_t* offset = inputs.indice_pairs.data();
  for (int64_t k = 0; k < s.K(); ++k, offset += 2 * s.num_act_in) {
    for (int64_t l = 0; l < inputs.indice_num[static_cast<size_t>(k)]; ++l) {
      const int64_t input = offset[l], output = offset[s.num_act_in + l];
      if (input < 0 || output < 0) continue;
      for (int64_t co = 0; co < s.Co; ++co) {
        float& sum = sums[static_cast<size_t>(output * s.Co + co)];
        for (int64_t ci = 0; ci < s.Ci; ++ci) {
          const float feature = inputs.features[static_cast<size_t>(input * s.Ci + ci)];
          const float weight =
              inputs.filters[static_cast<size_t>(reference::filter_index(s, inputs.layout, k, ci, co))];
          const float product = feature * weight;
          sum = fused ? std::fma(feature, weight, sum) : sum + product;
        }
      }
    }
  }
  return sums;
}

TEST(OpsIndiceConvolutionForwardOrder, OfTheHeader) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndiceConvolutionSizes& sizes : kSizes) {
    SCOPED_TRACE(sizes.Ci);
    auto inputs = random_indice_convolution<float>(sizes, FilterLayout::kNcdhw, random);
    make_fractional(inputs, random);
    const auto found = indice_convolution_result(inputs, kAlgorithm);
    // The header does not specify whether multiplications and additions are fused.
    EXPECT_TRUE(same_bits(found, ordered_sums(inputs, true)) || same_bits(found, ordered_sums(inputs, false)));
  }
}

// The output row of pair l of a filter offset: orders that are hard to combine into tiles or vectors.
constexpr int32_t kRows = 20000;
constexpr int32_t (*kOrders[])(int32_t l) = {
    [](int32_t l) { return l; },                                 // ascending
    [](int32_t l) { return kRows - 1 - l; },                     // descending
    [](int32_t l) { return l / 2; },                             // each row twice in succession
    [](int32_t l) { return l - l / 101; },                       // one repetition in 101 pairs
    [](int32_t l) { return l % 2 * (kRows / 2) + l / 2; },       // alternating between two tiles
    [](int32_t l) { return l / 23 % 2 * (kRows / 2) + l / 2; },  // alternating after 23 pairs
    [](int32_t l) { return l ^ 3; },                             // descending in groups of four
    [](int32_t l) { return l % 50; },                            // each row many times, 50 pairs apart
};

IndiceConvolutionInputs<float> hostile_orders(bool skips, std::mt19937& random) {
  const IndiceConvolutionSizes sizes{kRows, kRows, 3, 18, 2, 2, 2};
  auto inputs = random_indice_convolution<float>(sizes, FilterLayout::kArray, random);
  make_fractional(inputs, random);
  int32_t* offset = inputs.indice_pairs.data();
  for (size_t k = 0; k < std::size(kOrders); ++k, offset += 2 * kRows) {
    inputs.indice_num[k] = kRows;
    for (int32_t l = 0; l < kRows; ++l) {
      offset[l] = static_cast<int32_t>(random() % kRows);
      offset[kRows + l] = kOrders[k](l);
      if (skips && l % 41 < 2) offset[l % 2 * kRows + l] = -1;
    }
  }
  return inputs;
}

TEST(OpsIndiceConvolutionForwardOrder, HostileOrders) {
  auto random = seeded_random();
  for (const bool skips : {false, true}) {
    const auto inputs = hostile_orders(skips, random);
    const auto fused = ordered_sums(inputs, true), rounded = ordered_sums(inputs, false);
    for (const char* kib : {"4", "16", "640"}) {
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      for (const int count : {1, 2, 3, 64}) {
        SCOPED_TRACE(std::string(kib) + " KiB, threads: " + std::to_string(count));
        const ScopedThreads threads(count);
        const auto found = indice_convolution_result(inputs, kAlgorithm, Placement::kAgainstEnd);
        EXPECT_TRUE(same_bits(found, fused) || same_bits(found, rounded));
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test

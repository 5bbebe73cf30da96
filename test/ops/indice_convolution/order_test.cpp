// The three indice convolutions in the native algorithm: each sum has the same bits at any number of tasks, size
// of NRAM and address. The forward operator adds in the order that the header specifies.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using cases::Case;

// Returns the output. The native algorithm also runs if the operator has no other algorithm and the handle
// requests the device algorithm.
std::vector<float> invariant_result_of(const Case& made, int min_nram_kib = 1) {
  struct Run {
    const char* nram_kib;
    int threads;
    Placement placement;
  };
  const auto other = algorithms_of(made).size() == 1 ? MLUOP_OMP_ALGORITHM_DEVICE : MLUOP_OMP_ALGORITHM_NATIVE;
  std::vector<float> first = result_of(made, MLUOP_OMP_ALGORITHM_NATIVE);
  for (const auto& [nram_kib, threads, placement] : {Run{"1", 7, Placement::kAgainstEnd},
                                                     {"1", 1, Placement::kMisaligned},
                                                     {"4", 3, Placement::kAgainstEnd},
                                                     {"16", 64, Placement::kMisaligned},
                                                     {"100", 2, Placement::kMisaligned},
                                                     {"640", 1, Placement::kAgainstEnd}}) {
    if (std::stoi(nram_kib) < min_nram_kib) continue;
    SCOPED_TRACE(std::string(nram_kib) + " KiB, threads: " + std::to_string(threads));
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", nram_kib);
    const ScopedThreads scoped_threads(threads);
    EXPECT_TRUE(same_bits(result_of(made, other, placement), first));
  }
  return first;
}

// The sums in fp32 in the order of the header, with ARRAY filters: an element adds its products by k, l and ci.
std::vector<float> ordered_sums(const Case& made, const IndiceConvolutionSizes& s, bool fused) {
  const std::vector<float> features = floats_of(made, "features"), filters = floats_of(made, "filters");
  const std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
  std::vector<float> sums(static_cast<size_t>(s.features_out_count()));
  for (int64_t k = 0; k < s.K(); ++k) {
    const int32_t* const offset = pairs.data() + k * 2 * s.num_act_in;
    for (int64_t l = 0; l < made.parameters.list("indice_num")[static_cast<size_t>(k)]; ++l) {
      const int64_t input = offset[l], output = offset[s.num_act_in + l];
      if (input < 0 || output < 0) continue;
      float* const row = sums.data() + output * s.Co;
      for (int64_t ci = 0; ci < s.Ci; ++ci) {
        const float feature = features[static_cast<size_t>(input * s.Ci + ci)];
        const float* const weights = filters.data() + (k * s.Ci + ci) * s.Co;
        for (int64_t co = 0; co < s.Co; ++co) {
          const float product = feature * weights[co];
          row[co] = fused ? std::fma(feature, weights[co], row[co]) : row[co] + product;
        }
      }
    }
  }
  return sums;
}

// The header does not specify whether multiplications and additions are fused.
void expect_order_of_header(const Case& made, const IndiceConvolutionSizes& sizes,
                            const std::vector<float>& found) {
  EXPECT_TRUE(same_bits(found, ordered_sums(made, sizes, true)) ||
              same_bits(found, ordered_sums(made, sizes, false)));
}

// Sizes with fractional values, where another order of additions gives other bits.
constexpr IndiceConvolutionSizes kOrderSizes[] = {
    {1500, 1200, 19, 21, 3, 3, 1},    // rows that are not a multiple of a vector
    {2000, 100, 40, 64, 1, 1, 3},     // outputs with 20 pairs per filter offset
    {700, 900, 150, 48, 3, 1, 1},     // rows that do not fit a small NRAM
    {90, 30, 1100, 17, 1, 1, 2},      // long rows; outputs with several pairs per filter offset
    {900, 7, 35, 70, 1, 1, 2},        // fewer outputs than a batch has pairs
    {300, 1, 20, 33, 1, 1, 2},        // one output
    {30000, 20000, 18, 35, 3, 1, 1},  // many pairs per filter offset: several segments of a reduction
};

TEST(OpsIndiceConvolution, InvariantBits) {
  MLUOP_LABELS(kManyThreads, kSlow);
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const IndiceConvolutionSizes& sizes : kOrderSizes) {
      for (const auto dtype : kFloatingDtypes) {
        SCOPED_TRACE(convolution.op + (' ' + text_of(sizes)));
        Case made = make_convolution(convolution, dtype, sizes, random);
        set_pair_count(made, 1, sizes.num_act_in / 3 * 2, sizes);
        const bool is_forward = convolution == kConvolutionForward;
        if (is_forward) set_filter_shape(made, {MLUOP_LAYOUT_ARRAY});
        // With AMX, a smaller NRAM has no room for the tile registers.
        const bool may_use_tiles = dtype == MLUOP_DTYPE_BFLOAT16 && convolution == kConvolutionBackwardFilter;
        const std::vector<float> found = invariant_result_of(made, may_use_tiles ? 8 : 1);
        expect_close(found, expected_output(made, true), dtype);
        if (is_forward && dtype == MLUOP_DTYPE_FLOAT) expect_order_of_header(made, sizes, found);
      }
    }
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

TEST(OpsIndiceConvolution, HostileOrders) {
  MLUOP_LABELS(kManyThreads);
  constexpr IndiceConvolutionSizes kSizesOfOrders = {kRows, kRows, 3, 18, 2, 2, 2};
  auto random = seeded_random();
  for (const bool skips : {false, true}) {
    Case made = make_convolution(kConvolutionForward, MLUOP_DTYPE_FLOAT, kSizesOfOrders, random);
    set_filter_shape(made, {MLUOP_LAYOUT_ARRAY});
    std::vector<int32_t> pairs(static_cast<size_t>(kSizesOfOrders.pairs_count()));
    int32_t* offset = pairs.data();
    for (const auto& order : kOrders) {
      for (int32_t l = 0; l < kRows; ++l) {
        offset[l] = static_cast<int32_t>(random() % kRows);
        offset[kRows + l] = order(l);
        if (skips && l % 41 < 2) offset[l % 2 * kRows + l] = -1;
      }
      offset += 2 * kRows;
    }
    set_pairs(made, pairs, std::vector<int64_t>(std::size(kOrders), kRows));
    expect_order_of_header(made, kSizesOfOrders, invariant_result_of(made));
  }
}

}  // namespace
}  // namespace mluop::test

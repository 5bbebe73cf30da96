// mluOpIndiceConvolutionForward in the native algorithm: the order of additions is that of the header.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using cases::Case;

// The sums in fp32 in the order that the header specifies: an element adds its products by k, l and ci.
std::vector<float> ordered_sums(const Case& made, const IndiceConvolutionSizes& s, reference::FilterLayout layout,
                                bool fused) {
  const std::vector<float> features = floats_of(made, "features"), filters = floats_of(made, "filters");
  const std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
  std::vector<float> sums(static_cast<size_t>(s.features_out_count()));
  const int32_t* offset = pairs.data();
  for (int64_t k = 0; k < s.K(); ++k, offset += 2 * s.num_act_in) {
    for (int64_t l = 0; l < made.parameters.list("indice_num")[static_cast<size_t>(k)]; ++l) {
      const int64_t input = offset[l], output = offset[s.num_act_in + l];
      if (input < 0 || output < 0) continue;
      for (int64_t co = 0; co < s.Co; ++co) {
        float& sum = sums[static_cast<size_t>(output * s.Co + co)];
        for (int64_t ci = 0; ci < s.Ci; ++ci) {
          const float feature = features[static_cast<size_t>(input * s.Ci + ci)];
          const float weight = filters[static_cast<size_t>(reference::filter_index(s, layout, k, ci, co))];
          const float product = feature * weight;
          sum = fused ? std::fma(feature, weight, sum) : sum + product;
        }
      }
    }
  }
  return sums;
}

// The header does not specify whether multiplications and additions are fused.
class OrderedSums {
 public:
  OrderedSums(const Case& made, const IndiceConvolutionSizes& sizes, reference::FilterLayout layout)
      : fused_(ordered_sums(made, sizes, layout, true)), rounded_(ordered_sums(made, sizes, layout, false)) {}
  bool are(const std::vector<float>& found) const {
    return same_bits(found, fused_) || same_bits(found, rounded_);
  }

 private:
  std::vector<float> fused_, rounded_;
};

TEST(OpsIndiceConvolutionForwardOrder, OfTheHeader) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndiceConvolutionSizes& sizes : kSizesOfOrders) {
    SCOPED_TRACE(sizes.Ci);
    Case made = make_convolution(kConvolutionForward, MLUOP_DTYPE_FLOAT, sizes, random);
    set_filter_shape(made, {MLUOP_LAYOUT_NCDHW});
    EXPECT_TRUE(OrderedSums(made, sizes, reference::FilterLayout::kNcdhw)
                    .are(result_of(made, MLUOP_OMP_ALGORITHM_NATIVE)));
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
constexpr IndiceConvolutionSizes kHostileSizes = {kRows, kRows, 3, 18, 2, 2, 2};

Case hostile_orders(bool skips, std::mt19937& random) {
  Case made = make_convolution(kConvolutionForward, MLUOP_DTYPE_FLOAT, kHostileSizes, random);
  set_filter_shape(made, {MLUOP_LAYOUT_ARRAY});
  std::vector<int32_t> pairs(static_cast<size_t>(kHostileSizes.pairs_count()));
  int32_t* offset = pairs.data();
  for (size_t k = 0; k < std::size(kOrders); ++k, offset += 2 * kRows) {
    for (int32_t l = 0; l < kRows; ++l) {
      offset[l] = static_cast<int32_t>(random() % kRows);
      offset[kRows + l] = kOrders[k](l);
      if (skips && l % 41 < 2) offset[l % 2 * kRows + l] = -1;
    }
  }
  set_values(made, "indice_pairs", pairs);
  made.parameters.set("indice_num", std::vector<int64_t>(std::size(kOrders), kRows));
  return made;
}

TEST(OpsIndiceConvolutionForwardOrder, HostileOrders) {
  auto random = seeded_random();
  for (const bool skips : {false, true}) {
    const Case made = hostile_orders(skips, random);
    const OrderedSums expected(made, kHostileSizes, reference::FilterLayout::kArray);
    for (const char* kib : {"4", "16", "640"}) {
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      for (const int count : {1, 2, 3, 64}) {
        SCOPED_TRACE(std::string(kib) + " KiB, threads: " + std::to_string(count));
        const ScopedThreads threads(count);
        EXPECT_TRUE(expected.are(result_of(made, MLUOP_OMP_ALGORITHM_NATIVE, Placement::kAgainstEnd)));
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test

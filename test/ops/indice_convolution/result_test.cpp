// The three indice convolutions against the loops of their definitions, at sizes and with values that their
// kernels distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/labels.h"
#include "support/sanitizers.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr IndiceConvolutionSizes kHostileSizes[] = {
    {300, 250, 18, 35, 2, 3, 2},    // different dimensions
    {1, 1, 1, 1, 1, 1, 1},          // one of everything
    {17, 40, 3, 5, 3, 3, 3},        // fewer channels than the smallest vector, more filter offsets than rows
    {100, 7, 5, 3, 1, 3, 3},        // outputs with many pairs per filter offset
    {200, 90, 16, 16, 3, 3, 3},     // a vector of channels
    {150, 300, 17, 16, 2, 2, 2},    // a vector of input channels plus one
    {150, 300, 16, 17, 3, 1, 1},    // a vector of output channels plus one
    {64, 64, 15, 33, 1, 1, 3},      // a vector minus one; two plus one
    {65, 63, 128, 128, 3, 1, 1},    // channels of the network
    {129, 63, 65, 129, 3, 1, 1},    // channels of a network plus one
    {70, 80, 64, 112, 3, 3, 1},     // blocks of several vectors, and a tail
    {50, 60, 257, 1, 3, 3, 3},      // many input channels, one output channel
    {50, 60, 1, 300, 3, 3, 3},      // one input channel, many output channels
    {40, 41, 17, 255, 1, 2, 3},     // a long odd row
    {90, 80, 128, 128, 1, 1, 3},    // the longest rows that the gradient of filters reads in place
    {90, 80, 100, 144, 1, 1, 3},    // only the rows of one tensor are read in place
    {90, 80, 300, 310, 3, 3, 1},    // few rows, wide filters: several tiles of channels
    {40, 50, 3000, 90, 1, 1, 2},    // filters that no tile packs
    {30, 2000, 4, 31, 3, 3, 3},     // most outputs have no pair
    {3000, 1, 8, 8, 1, 1, 2},       // one output for all pairs
    {1, 500, 64, 64, 5, 5, 5},      // one input for all pairs
    {9, 9, 700, 20, 1, 1, 2},       // long sums
    {5, 6, 20, 1100, 1, 2, 1},      // long rows
    {40000, 30000, 2, 3, 1, 3, 3},  // filter offsets with many pairs
    {20000, 16000, 2, 3, 2, 1, 1},  // short rows, many tiles
};

TEST(OpsIndiceConvolution, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  constexpr FilterShape kShapes[] = {{MLUOP_LAYOUT_NDHWC},   {MLUOP_LAYOUT_NCDHW},   {MLUOP_LAYOUT_ARRAY},
                                     {MLUOP_LAYOUT_NHWC, 4}, {MLUOP_LAYOUT_NCHW, 4}, {MLUOP_LAYOUT_HWCN, 4},
                                     {MLUOP_LAYOUT_ARRAY, 4}};
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const FilterShape& shape : kShapes) {
      if (convolution == kConvolutionForward && shape.dim_count == 4) continue;
      // The other shapes differ in how the dimensions are read: one size suffices, and with sanitizers for each
      // shape but the first.
      const bool packs_its_own_way =
          !kSanitizer && shape.dim_count == 5 && convolution != kConvolutionBackwardFilter;
      const bool all_sizes = packs_its_own_way || shape.layout == MLUOP_LAYOUT_NDHWC;
      for (IndiceConvolutionSizes sizes :
           std::span(kHostileSizes).first(all_sizes ? std::size(kHostileSizes) : 1)) {
        if (shape.dim_count == 4) sizes.D = 1;
        SCOPED_TRACE(convolution.op + (' ' + text_of(sizes)) + ", layout " + std::to_string(shape.layout));
        for (const auto dtype : kFloatingDtypes) {
          expect_exact(make_integers(convolution, dtype, sizes, random, shape));
        }
      }
    }
  }
}

// Outputs large enough for nontemporal stores, which require rows of whole cache lines.
TEST(OpsIndiceConvolutionForward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_integers(kConvolutionForward, dtype, {3000, 140000, 4, 32, 1, 1, 2}, random);
    const std::vector<float> expected = expected_output(made);
    expect_exact(made, expected, Placement::kAligned);
    expect_exact(made, expected, Placement::kMisaligned);
  }
}

// Numbers of pairs around the sizes of batches and of segments of a reduction; channels of one block and of
// several panels with tails.
TEST(OpsIndiceConvolution, NumbersOfPairs) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto& [Ci, Co] : {std::pair<int64_t, int64_t>{3, 18}, {64, 64}, {145, 37}, {37, 145}}) {
    for (const int64_t pairs :
         {1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 5000}) {
      const IndiceConvolutionSizes sizes{pairs, pairs, Ci, Co, 1, 1, 3};
      SCOPED_TRACE(text_of(sizes));
      for (const auto& convolution : {kConvolutionBackwardData, kConvolutionBackwardFilter}) {
        Case made = make_integers(convolution, MLUOP_DTYPE_FLOAT, sizes, random);
        for (size_t k = 0; k < 3; ++k) set_pair_count(made, k, k == 1 ? pairs / 2 : pairs, sizes);
        expect_exact(made);
      }
    }
  }
}

TEST(OpsIndiceConvolution, NramSizes) {
  MLUOP_LABELS(kOnce, kSlow);
  constexpr IndiceConvolutionSizes kSizes[] = {{900, 2500, 33, 70, 3, 3, 1},
                                               {300, 250, 70, 33, 1, 3, 1},
                                               {60, 50, 256, 256, 1, 1, 3},
                                               {90, 70, 600, 40, 1, 1, 3}};
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const IndiceConvolutionSizes& sizes : kSizes) {
      for (const auto dtype : kFloatingDtypes) {
        const Case made = make_integers(convolution, dtype, sizes, random);
        const std::vector<float> expected = expected_output(made);
        for (const char* kib : {"1", "2", "16", "17", "64", "384", "640", "1024"}) {
          SCOPED_TRACE(convolution.op + (' ' + text_of(sizes)) + ", KiB: " + kib);
          const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
          expect_exact(made, expected);
        }
      }
    }
  }
}

// The derivatives of <forward, y> by the elements of an operand, from the definition of the forward operator. The
// product is linear in the operand: each derivative is its value for a unit vector.
std::vector<float> derivatives(const Case& forward, const char* operand, const std::vector<float>& y) {
  const Handle handle;
  OperatorCall call(handle, forward);
  const auto elements = std::span(call[operand].as<float>(), static_cast<size_t>(call[operand].count()));
  std::ranges::fill(elements, 0.0F);
  std::vector<float> derivatives;
  for (float& element : elements) {
    element = 1;
    call.expect();
    element = 0;
    const std::vector<double>& sums = call["features_out"].sums;
    derivatives.push_back(static_cast<float>(std::inner_product(sums.begin(), sums.end(), y.begin(), 0.0)));
  }
  return derivatives;
}

TEST(OpsIndiceConvolution, GradientsOfTheForwardOperator) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const IndiceConvolutionSizes& sizes :
       {IndiceConvolutionSizes{25, 30, 6, 17, 1, 3, 2}, {9, 4, 3, 2, 2, 1, 3}}) {
    for (const auto dtype : kFloatingDtypes) {
      SCOPED_TRACE(text_of(sizes));
      constexpr FilterShape kArray = {MLUOP_LAYOUT_ARRAY};
      const Case forward = make_integers(kConvolutionForward, MLUOP_DTYPE_FLOAT, sizes, random, kArray);
      Case data = make_integers(kConvolutionBackwardData, dtype, sizes, random, kArray);
      Case filter = make_integers(kConvolutionBackwardFilter, dtype, sizes, random);
      const std::vector<float> y = floats_of(data, "output_grad");
      set_values(data, "filters", floats_of(forward, "filters"));
      set_values(filter, "features", floats_of(forward, "features"));
      set_values(filter, "output_grad", y);
      for (Case* gradient : {&data, &filter}) {
        set_pairs(*gradient, int32s_of(forward, "indice_pairs"), forward.parameters.list("indice_num"));
      }
      expect_exact(data, derivatives(forward, "features", y));
      expect_exact(filter, derivatives(forward, "filters", y));
    }
  }
}

// Padding of registers and tiles does not multiply rows without a pair: 0 * NaN would be NaN.
TEST(OpsIndiceConvolution, NanInRowsOfNoPair) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    Case made = make_integers(convolution, MLUOP_DTYPE_FLOAT, {61, 71, 20, 20, 3, 3, 3}, random);
    std::vector<int32_t> pairs = int32s_of(made, "indice_pairs");
    for (int32_t& row : pairs) row &= ~1;
    set_values(made, "indice_pairs", pairs);
    for (const cases::Tensor& tensor : made.inputs) {
      if (tensor.dims.size() != 2) continue;
      std::vector<float> rows = floats_of(made, tensor.id);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (i / 20 % 2 == 1) rows[i] = std::numeric_limits<float>::quiet_NaN();
      }
      set_values(made, tensor.id, rows);
    }
    const std::vector<float> expected = expected_output(made);
    EXPECT_TRUE(std::ranges::none_of(expected, [](float x) { return std::isnan(x); }));
    expect_exact(made, expected);
  }
}

// The first row, or the only element, of the output is the sum.
TEST(OpsIndiceConvolution, LimitsOfHalf) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const auto& [addends, factor, sum] : half_sums()) {
      SCOPED_TRACE(convolution.op + (' ' + std::to_string(sum)));
      const auto terms = static_cast<int64_t>(addends.size());
      Case made = make_convolution(convolution, MLUOP_DTYPE_HALF, {terms, terms, 1, 1, 1, 1, 1}, random);
      const auto factors = static_cast<size_t>(element_count(made.inputs[1]));
      set_values(made, made.inputs[0].id, std::vector<float>(addends.begin(), addends.end()));
      set_values(made, made.inputs[1].id, std::vector<float>(factors, static_cast<float>(factor)));
      std::vector<int32_t> pairs(addends.size() * 2);
      const auto addend_rows = pairs.begin() + (convolution == kConvolutionBackwardData ? terms : 0);
      std::iota(addend_rows, addend_rows + terms, 0);
      set_pairs(made, pairs, {terms});
      for (const auto algorithm : algorithms_of(made)) {
        EXPECT_EQ(result_of(made, algorithm).front(), static_cast<float>(sum));
      }
    }
  }
}

// AVX512-BF16 takes subnormal elements and sums for 0.
TEST(OpsIndiceConvolution, SubnormalsOfBFloat16) {
  constexpr struct {
    float a, b;
    bool is_exact;
  } kProducts[] = {
      {0x1p-133F, 1, false}, {1, -0x1.8p-127F, false}, {0x1p-65F, 0x1p-65F, false}, {0x1p-99F, 0x1p-27F, true}};
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    for (const auto& [a, b, is_exact] : kProducts) {
      SCOPED_TRACE(convolution.op + (' ' + std::to_string(std::ilogb(a))));
      Case made = make_convolution(convolution, MLUOP_DTYPE_BFLOAT16, {1, 1, 1, 1, 1, 1, 1}, random);
      set_values(made, made.inputs[0].id, std::vector<float>{a});
      set_values(made, made.inputs[1].id, std::vector<float>{b});
      set_pairs(made, {0, 0}, {1});
      for (const auto algorithm : algorithms_of(made)) {
        const float found = result_of(made, algorithm).front();
        EXPECT_TRUE(found == a * b || (!is_exact && found == 0)) << found;
      }
    }
  }
}

TEST(OpsIndiceConvolution, NoPairs) {
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op);
    Case made = make_convolution(convolution, MLUOP_DTYPE_FLOAT, {50, 70, 6, 9, 3, 3, 3}, random);
    const std::vector<int32_t> skipped(size_t{27} * 2 * 50, -1);
    const std::vector<float> zeros(static_cast<size_t>(element_count(made.outputs[0])));
    for (const int64_t count : {0, 50}) {
      set_pairs(made, skipped, std::vector<int64_t>(27, count));
      expect_exact(made, zeros);
    }
  }
}

}  // namespace
}  // namespace mluop::test

// mluOpIndiceConvolutionBackwardFilter against the loops of its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/indice_convolution_backward_filter/call.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// For sums in fp32, and for their rounding to half, against sums in double.
constexpr double kFloatTolerance = 1e-5;
constexpr double kHalfTolerance = 1e-3;

// For inputs whose sums are exact in every order.
template <class T>
void expect_exact(const IndiceConvolutionBackwardFilterInputs<T>& inputs,
                  Placement placement = Placement::kAligned) {
  EXPECT_TRUE(same_bits(indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE, placement),
                        indice_convolution_backward_filter_reference(inputs)));
}

// Random inputs in both data types.
void expect_exact_of(const IndiceConvolutionSizes& sizes, std::mt19937& random,
                     Placement placement = Placement::kAligned) {
  SCOPED_TRACE(product_text({sizes.num_act_in, sizes.num_act_out, sizes.Ci, sizes.Co, sizes.D, sizes.H, sizes.W}));
  expect_exact(random_indice_convolution_backward_filter<float>(sizes, random), placement);
  expect_exact(random_indice_convolution_backward_filter<Half>(sizes, random), placement);
}

constexpr IndiceConvolutionSizes kHostileSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},        // one of everything
    {2, 3, 1, 1, 3, 3, 3},        // more filter offsets than rows
    {17, 40, 3, 5, 3, 3, 3},      // fewer channels than the smallest vector
    {100, 7, 5, 3, 1, 3, 3},      // outputs with many pairs per filter offset
    {200, 90, 16, 16, 3, 3, 3},   // a vector of channels
    {150, 300, 17, 16, 2, 2, 2},  // a vector of input channels plus one
    {150, 300, 16, 17, 3, 1, 1},  // a vector of output channels plus one
    {64, 64, 15, 33, 1, 1, 3},    // a vector minus one; two plus one
    {129, 63, 65, 129, 3, 1, 1},  // channels of a network plus one
    {70, 80, 64, 112, 3, 3, 1},   // blocks of several vectors, and a tail
    {50, 60, 257, 1, 1, 3, 3},    // many input channels, one output channel
    {50, 60, 1, 300, 1, 1, 3},    // one input channel, many output channels
    {90, 80, 128, 128, 1, 1, 3},  // the longest rows that are read in place
    {90, 80, 100, 144, 1, 1, 3},  // of which those of one tensor are
    {40, 40, 300, 290, 1, 1, 1},  // several tiles of channels
};

TEST(OpsIndiceConvolutionBackwardFilter, HostileSizes) {
  auto random = seeded_random();
  for (const int count : {1, 3}) {
    const ScopedThreads threads(count);
    for (const auto& sizes : kHostileSizes) expect_exact_of(sizes, random);
  }
}

// Numbers of pairs around those of chunks, and of segments of a reduction; channels of one block and of several
// panels with tails.
TEST(OpsIndiceConvolutionBackwardFilter, NumbersOfPairs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto& [Ci, Co] : {std::pair<int64_t, int64_t>{3, 18}, {64, 64}, {37, 145}}) {
    for (const int64_t pairs : {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 5000}) {
      auto inputs = random_indice_convolution_backward_filter<float>({pairs, pairs, Ci, Co, 1, 1, 3}, random);
      for (size_t k = 0; k < 3; ++k) set_pair_count(inputs, k, k == 1 ? pairs / 2 : pairs);
      SCOPED_TRACE(product_text({pairs, Ci, Co}));
      expect_exact(inputs);
    }
  }
}

// The dimensions are read by their position in each layout.
TEST(OpsIndiceConvolutionBackwardFilter, LayoutsOfTheOutput) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const auto inputs = random_indice_convolution_backward_filter<float>({300, 250, 18, 35, 1, 3, 2}, random);
  const auto expected = indice_convolution_backward_filter_reference(inputs);
  const auto expect_output = [&](std::vector<int64_t> dims, mluOpTensorLayout_t layout) {
    SCOPED_TRACE(std::to_string(layout) + " of " + std::to_string(dims.size()));
    const Handle handle;
    IndiceConvolutionBackwardFilterCall<float> call(handle, inputs);
    const Descriptor desc(MLUOP_DTYPE_FLOAT, dims, layout);
    call.filters_grad_desc = desc;
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.output(), expected));
  };
  for (const auto layout : {MLUOP_LAYOUT_ARRAY, MLUOP_LAYOUT_NDHWC, MLUOP_LAYOUT_NCDHW})
    expect_output({1, 3, 2, 18, 35}, layout);
  for (const auto layout : {MLUOP_LAYOUT_ARRAY, MLUOP_LAYOUT_HWCN, MLUOP_LAYOUT_NHWC, MLUOP_LAYOUT_NCHW})
    expect_output({3, 2, 18, 35}, layout);
}

TEST(OpsIndiceConvolutionBackwardFilter, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t channels : {1, 16, 31, 64})
      expect_exact_of({333, 350, channels, channels, 3, 1, 3}, random, placement);
  }
}

// The same bits for sums that are rounded.
template <class T>
void expect_invariant_bits(std::mt19937& random) {
  auto inputs = random_indice_convolution_backward_filter<T>({30000, 20000, 18, 35, 3, 1, 1}, random);
  set_pair_count(inputs, 1, 20000);
  make_fractional(inputs, random);
  std::vector<float> expected;
  {
    const ScopedThreads threads(1);
    expected = indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE);
  }
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    // Both settings of the algorithm run the native one.
    for (const auto algorithm : kAlgorithms)
      EXPECT_TRUE(same_bits(indice_convolution_backward_filter_result(inputs, algorithm), expected));
  }
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "2", "16", "17", "64", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    EXPECT_TRUE(
        same_bits(indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE), expected));
  }
}

TEST(OpsIndiceConvolutionBackwardFilter, ThreadCounts) {
  auto random = seeded_random();
  expect_invariant_bits<float>(random);
  expect_invariant_bits<Half>(random);
}

TEST(OpsIndiceConvolutionBackwardFilter, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "2", "16", "17", "64", "384", "640", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_exact_of({300, 250, 70, 33, 1, 3, 1}, random);
    expect_exact_of({60, 50, 256, 256, 1, 1, 2}, random);
  }
}

TEST(OpsIndiceConvolutionBackwardFilter, AgainstSumsInDouble) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const auto check = [&](auto inputs, double tolerance) {
    make_fractional(inputs, random);
    const auto sums = indice_convolution_backward_filter_sums(inputs);
    const auto [diff1, diff2] =
        differences(indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE),
                    std::vector<float>(sums.begin(), sums.end()));
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
  };
  const IndiceConvolutionSizes sizes{2000, 2500, 40, 30, 3, 3, 3};
  check(random_indice_convolution_backward_filter<float>(sizes, random), kFloatTolerance);
  check(random_indice_convolution_backward_filter<Half>(sizes, random), kHalfTolerance);
}

// More rows than MLU-OPS allows.
TEST(OpsIndiceConvolutionBackwardFilter, MoreThanAMillionRows) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  expect_exact(random_indice_convolution_backward_filter<float>({1000001, 700, 1, 1, 1, 1, 2}, random));
}

// Consecutive calls of different sizes with one handle.
TEST(OpsIndiceConvolutionBackwardFilter, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t rows : {1000, 3, 5000, 1}) {
    const auto inputs =
        random_indice_convolution_backward_filter<float>({rows, rows / 2 + 1, 19, 35, 1, 3, 3}, random);
    const IndiceConvolutionBackwardFilterCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.output(), indice_convolution_backward_filter_reference(inputs)));
  }
}

TEST(OpsIndiceConvolutionBackwardFilter, SubmanifoldFlagChangesNothing) {
  auto random = seeded_random();
  auto inputs = random_indice_convolution_backward_filter<float>({300, 300, 8, 24, 3, 3, 3}, random);
  set_pair_count(inputs, 13, 300);
  const Handle handle;
  IndiceConvolutionBackwardFilterCall<float> call(handle, inputs);
  call.sub_m = 1;
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(same_bits(call.output(), indice_convolution_backward_filter_reference(inputs)));
}

// Special values propagate to the elements of the definition, and to no others: padding of registers and tiles
// does not multiply rows that are in no pair.
TEST(OpsIndiceConvolutionBackwardFilter, NanAndInfinity) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF};
  for (const int64_t channels : {5, 16, 49}) {
    auto inputs =
        random_indice_convolution_backward_filter<float>({400, 900, channels, channels, 3, 1, 1}, random);
    for (size_t i = 0; i < inputs.features.size(); i += 997) inputs.features[i] = specials[i % 3];
    for (size_t i = 5; i < inputs.output_grad.size(); i += 1597) inputs.output_grad[i] = specials[i % 3];
    expect_exact(inputs, Placement::kAgainstEnd);
  }
}

TEST(OpsIndiceConvolutionBackwardFilter, LimitsOfHalf) {
  for (const auto& [addends, factor, sum] : half_sums()) {
    SCOPED_TRACE(sum);
    const auto rows = static_cast<int64_t>(addends.size());
    IndiceConvolutionBackwardFilterInputs<Half> inputs{{rows, 1, 1, 1, 1, 1, 1}, {}, {to_f16(factor)}, {}, {rows}};
    for (const double addend : addends) inputs.features.push_back(to_f16(addend));
    for (int32_t l = 0; l < rows; ++l) inputs.indice_pairs.push_back(l);
    inputs.indice_pairs.resize(addends.size() * 2, 0);
    EXPECT_EQ(indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE)[0], sum);
  }
}

// Without pairs, the output is 0.
TEST(OpsIndiceConvolutionBackwardFilter, NoPairs) {
  auto random = seeded_random();
  auto inputs = random_indice_convolution_backward_filter<float>({50, 70, 6, 9, 3, 3, 3}, random);
  std::fill(inputs.indice_pairs.begin(), inputs.indice_pairs.end(), -1);
  expect_exact(inputs);
  std::fill(inputs.indice_num.begin(), inputs.indice_num.end(), 0);
  expect_exact(inputs);
}

// The output is 0. Neither data of inputs nor a workspace is needed.
TEST(OpsIndiceConvolutionBackwardFilter, EmptyTensors) {
  for (const IndiceConvolutionSizes& sizes :
       {IndiceConvolutionSizes{0, 40, 6, 9, 1, 3, 3}, IndiceConvolutionSizes{30, 0, 6, 9, 1, 3, 3},
        IndiceConvolutionSizes{30, 40, 0, 9, 1, 3, 3}, IndiceConvolutionSizes{30, 40, 6, 0, 1, 3, 3},
        IndiceConvolutionSizes{30, 40, 6, 9, 1, 0, 3}}) {
    IndiceConvolutionBackwardFilterInputs<Half> inputs{
        sizes, {}, {}, {}, std::vector<int64_t>(static_cast<size_t>(sizes.K()))};
    inputs.features.resize(static_cast<size_t>(sizes.features_count()));
    inputs.output_grad.resize(static_cast<size_t>(sizes.features_out_count()));
    inputs.indice_pairs.resize(static_cast<size_t>(sizes.pairs_count()));
    const Handle handle;
    IndiceConvolutionBackwardFilterCall<Half> call(handle, inputs);
    EXPECT_EQ(call.workspace_size, 0U);
    call.workspace = nullptr;
    call.features = call.output_grad = call.indice_pairs = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.output(), std::vector<float>(static_cast<size_t>(sizes.filters_count())));
    EXPECT_TRUE(call.intact());
  }
}

}  // namespace
}  // namespace mluop::test

// mluOpIndiceConvolutionBackwardData against the loops of its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "ops/indice_convolution_backward_data/call.h"
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

// One of them has the filters of a product consecutive.
constexpr FilterFormat kTwoFormats[] = {kFilterFormats[1], kFilterFormats[2]};

// For inputs whose sums are exact in every order.
template <class T>
void expect_exact(const IndiceConvolutionBackwardDataInputs<T>& inputs,
                  Placement placement = Placement::kAligned) {
  EXPECT_TRUE(same_bits(indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE, placement),
                        indice_convolution_backward_data_reference(inputs)));
}

// Random inputs in both data types.
void expect_exact_of(const IndiceConvolutionSizes& sizes, std::mt19937& random,
                     std::span<const FilterFormat> formats = kFilterFormats,
                     Placement placement = Placement::kAligned) {
  SCOPED_TRACE(product_text({sizes.num_act_in, sizes.num_act_out, sizes.Ci, sizes.Co, sizes.D, sizes.H, sizes.W}));
  for (const FilterFormat format : formats) {
    SCOPED_TRACE(std::to_string(format.layout) + " of " + std::to_string(format.dim_count));
    auto s = sizes;
    if (format.dim_count == 4) s.D = 1;
    expect_exact(random_indice_convolution_backward_data<float>(s, format, random), placement);
    expect_exact(random_indice_convolution_backward_data<Half>(s, format, random), placement);
  }
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
    {40, 40, 300, 290, 1, 1, 1},  // several tiles of channels
};

TEST(OpsIndiceConvolutionBackwardData, HostileSizes) {
  auto random = seeded_random();
  for (const int count : {1, 3}) {
    const ScopedThreads threads(count);
    for (const auto& sizes : kHostileSizes) expect_exact_of(sizes, random);
  }
}

// Numbers of pairs around those of chunks; channels of one block and of several panels with tails.
TEST(OpsIndiceConvolutionBackwardData, NumbersOfPairs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto& [Ci, Co] : {std::pair<int64_t, int64_t>{3, 18}, {64, 64}, {145, 37}}) {
    for (const int64_t pairs : {1, 2, 95, 96, 97, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 5000}) {
      auto inputs = random_indice_convolution_backward_data<float>({pairs, pairs, Ci, Co, 1, 1, 3},
                                                                   kFilterFormats[0], random);
      for (size_t k = 0; k < 3; ++k) set_pair_count(inputs, k, k == 1 ? pairs / 2 : pairs);
      SCOPED_TRACE(product_text({pairs, Ci, Co}));
      expect_exact(inputs);
    }
  }
}

TEST(OpsIndiceConvolutionBackwardData, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t channels : {1, 16, 31, 64})
      expect_exact_of({333, 350, channels, channels, 3, 1, 3}, random, kTwoFormats, placement);
  }
}

// The same bits for sums that are rounded.
template <class T>
void expect_invariant_bits(std::mt19937& random) {
  auto inputs =
      random_indice_convolution_backward_data<T>({30000, 20000, 18, 35, 3, 1, 1}, kFilterFormats[0], random);
  set_pair_count(inputs, 1, 20000);
  make_fractional(inputs, random);
  std::vector<float> expected;
  {
    const ScopedThreads threads(1);
    expected = indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE);
  }
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    // Both settings of the algorithm run the native one.
    for (const auto algorithm : kAlgorithms)
      EXPECT_TRUE(same_bits(indice_convolution_backward_data_result(inputs, algorithm), expected));
  }
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "2", "16", "17", "64", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    EXPECT_TRUE(same_bits(indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE), expected));
  }
}

TEST(OpsIndiceConvolutionBackwardData, ThreadCounts) {
  auto random = seeded_random();
  expect_invariant_bits<float>(random);
  expect_invariant_bits<Half>(random);
}

TEST(OpsIndiceConvolutionBackwardData, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "2", "16", "17", "64", "384", "640", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_exact_of({300, 250, 70, 33, 1, 3, 1}, random, kTwoFormats);
    expect_exact_of({60, 50, 256, 256, 1, 1, 2}, random, kTwoFormats);
  }
}

TEST(OpsIndiceConvolutionBackwardData, AgainstSumsInDouble) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const auto check = [&](auto inputs, double tolerance) {
    make_fractional(inputs, random);
    const auto sums = indice_convolution_backward_data_sums(inputs);
    const auto [diff1, diff2] =
        differences(indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE),
                    std::vector<float>(sums.begin(), sums.end()));
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
  };
  const IndiceConvolutionSizes sizes{2000, 2500, 40, 30, 3, 3, 3};
  check(random_indice_convolution_backward_data<float>(sizes, kFilterFormats[0], random), kFloatTolerance);
  check(random_indice_convolution_backward_data<Half>(sizes, kFilterFormats[0], random), kHalfTolerance);
}

// More rows than MLU-OPS allows.
TEST(OpsIndiceConvolutionBackwardData, MoreThanAMillionRows) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  expect_exact(
      random_indice_convolution_backward_data<float>({1000001, 700, 1, 1, 1, 1, 2}, kFilterFormats[0], random));
}

// Consecutive calls of different sizes with one handle.
TEST(OpsIndiceConvolutionBackwardData, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t rows : {1000, 3, 5000, 1}) {
    const auto inputs = random_indice_convolution_backward_data<float>({rows, rows / 2 + 1, 19, 35, 1, 3, 3},
                                                                       kFilterFormats[0], random);
    const IndiceConvolutionBackwardDataCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.output(), indice_convolution_backward_data_reference(inputs)));
  }
}

TEST(OpsIndiceConvolutionBackwardData, SubmanifoldFlagChangesNothing) {
  auto random = seeded_random();
  auto inputs =
      random_indice_convolution_backward_data<float>({300, 300, 8, 24, 3, 3, 3}, kFilterFormats[0], random);
  set_pair_count(inputs, 13, 300);
  const Handle handle;
  IndiceConvolutionBackwardDataCall<float> call(handle, inputs);
  call.sub_m = 1;
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(same_bits(call.output(), indice_convolution_backward_data_reference(inputs)));
}

// Special values propagate to the elements of the definition, and to no others: padding of registers and tiles
// does not multiply rows that are in no pair.
TEST(OpsIndiceConvolutionBackwardData, NanAndInfinity) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF};
  for (const int64_t channels : {5, 16, 49}) {
    auto inputs = random_indice_convolution_backward_data<float>({400, 900, channels, channels, 3, 1, 1},
                                                                 kFilterFormats[0], random);
    for (size_t i = 0; i < inputs.output_grad.size(); i += 997) inputs.output_grad[i] = specials[i % 3];
    for (size_t i = 5; i < inputs.filters.size(); i += 1597) inputs.filters[i] = specials[i % 3];
    expect_exact(inputs, Placement::kAgainstEnd);
  }
}

TEST(OpsIndiceConvolutionBackwardData, LimitsOfHalf) {
  for (const auto& [addends, factor, sum] : half_sums()) {
    SCOPED_TRACE(sum);
    const auto rows = static_cast<int64_t>(addends.size());
    IndiceConvolutionBackwardDataInputs<Half> inputs{{1, rows, 1, 1, 1, 1, rows},
                                                     kFilterFormats[2],
                                                     {},
                                                     {},
                                                     {},
                                                     std::vector<int64_t>(static_cast<size_t>(rows), 1)};
    for (const double addend : addends) inputs.output_grad.push_back(to_f16(addend));
    inputs.filters.assign(addends.size(), to_f16(factor));
    for (int32_t l = 0; l < rows; ++l) inputs.indice_pairs.insert(inputs.indice_pairs.end(), {0, l});
    EXPECT_EQ(indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE)[0], sum);
  }
}

// Without pairs, the output is 0.
TEST(OpsIndiceConvolutionBackwardData, NoPairs) {
  auto random = seeded_random();
  auto inputs = random_indice_convolution_backward_data<float>({50, 70, 6, 9, 3, 3, 3}, kFilterFormats[0], random);
  std::fill(inputs.indice_pairs.begin(), inputs.indice_pairs.end(), -1);
  expect_exact(inputs);
  std::fill(inputs.indice_num.begin(), inputs.indice_num.end(), 0);
  expect_exact(inputs);
}

// The output is 0. Neither data of inputs nor a workspace is needed.
TEST(OpsIndiceConvolutionBackwardData, EmptyTensors) {
  for (const IndiceConvolutionSizes& sizes :
       {IndiceConvolutionSizes{0, 40, 6, 9, 1, 3, 3}, IndiceConvolutionSizes{30, 0, 6, 9, 1, 3, 3},
        IndiceConvolutionSizes{30, 40, 0, 9, 1, 3, 3}, IndiceConvolutionSizes{30, 40, 6, 0, 1, 3, 3},
        IndiceConvolutionSizes{30, 40, 6, 9, 1, 0, 3}}) {
    IndiceConvolutionBackwardDataInputs<Half> inputs{
        sizes, kFilterFormats[0], {}, {}, {}, std::vector<int64_t>(static_cast<size_t>(sizes.K()))};
    inputs.output_grad.resize(static_cast<size_t>(sizes.features_out_count()));
    inputs.filters.resize(static_cast<size_t>(sizes.filters_count()));
    inputs.indice_pairs.resize(static_cast<size_t>(sizes.pairs_count()));
    const Handle handle;
    IndiceConvolutionBackwardDataCall<Half> call(handle, inputs);
    EXPECT_EQ(call.workspace_size, 0U);
    call.workspace = nullptr;
    call.output_grad = call.filters = call.indice_pairs = nullptr;
    for (const int64_t sub_m : {0, 1}) {
      call.sub_m = sub_m;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.output(), std::vector<float>(static_cast<size_t>(sizes.features_count())));
    }
    EXPECT_TRUE(call.intact());
  }
}

}  // namespace
}  // namespace mluop::test

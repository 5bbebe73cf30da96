// mluOpThreeInterpolateForward against the serial loop of its definition, bit for bit.
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "ops/three_interpolate_forward/call.h"
#include "ops/three_interpolate_forward/native/plan.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using Sizes = ThreeInterpolateForwardSizes;

// For fp32 sums, and for their rounding to half, against sums in double.
constexpr double kFloatTolerance = 1e-6;
constexpr double kHalfTolerance = 1e-3;

template <class T>
void expect_bits(const ThreeInterpolateForwardInputs<T>& inputs, const std::vector<T>& expected,
                 Placement placement) {
  const Handle handle;
  const ThreeInterpolateForwardCall<T> call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  // The conversion to fp32 is exact, so equal bits of fp32 are equal bits of T.
  EXPECT_TRUE(same_bits(floats_of(call.results()), floats_of(expected)));
  EXPECT_TRUE(call.intact());
}

template <class T>
void expect_reference(const ThreeInterpolateForwardInputs<T>& inputs, Placement placement = Placement::kAligned) {
  expect_bits(inputs, three_interpolate_forward_reference(inputs), placement);
}

void expect_reference_in_both_types(const Sizes& sizes, std::mt19937& random,
                                    Placement placement = Placement::kAligned) {
  SCOPED_TRACE(product_text({sizes.B, sizes.C, sizes.M, sizes.N}));
  expect_reference(random_three_interpolate_forward<float>(sizes, random), placement);
  expect_reference(random_three_interpolate_forward<Half>(sizes, random), placement);
}

bool is_packed(const Sizes& s, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT, size_t nram_kib = 640) {
  Context context;
  context.nram_capacity = nram_kib * 1024;
  return three_interpolate_forward::native::make_plan(
             context, {s.B, s.C, s.M, s.N, dtype, nullptr, nullptr, nullptr, nullptr})
      .packed;
}

constexpr Sizes kHostileSizes[] = {
    {1, 1, 1, 1},       // one of everything
    {1, 1, 3, 1},       // a feature per slot
    {2, 15, 15, 15},    // a strip minus one in every dimension
    {2, 16, 16, 16},    // a strip
    {2, 17, 17, 17},    // a strip plus one
    {3, 33, 31, 47},    // two strips plus one, minus one; three minus one
    {2, 32, 33, 239},   // a chunk of points minus one
    {2, 32, 32, 240},   // a chunk of points
    {2, 32, 31, 241},   // a chunk of points plus one
    {1, 5, 2, 3},       // fewer points than the smallest vector
    {1, 7, 1, 1000},    // one feature for all points
    {1, 2, 5000, 3},    // most features are in no slot
    {70, 1, 5, 9},      // more batches than tasks
    {1, 130, 9, 40},    // more strips than tasks
    {1, 3, 100, 2000},  // fewer strips than tasks
};

TEST(OpsThreeInterpolateForward, HostileSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const Sizes& sizes : kHostileSizes) expect_reference_in_both_types(sizes, random);
}

TEST(OpsThreeInterpolateForward, Placements) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
    for (const int64_t channels : {1, 16, 19, 32}) {
      expect_reference_in_both_types({2, channels, 77, 123}, random, placement);
      expect_reference_in_both_types({2, channels, 64, 512}, random, placement);
    }
  }
}

template <class T>
void expect_reference_everywhere(const Sizes& sizes, std::mt19937& random) {
  const auto inputs = random_three_interpolate_forward<T>(sizes, random);
  const auto expected = three_interpolate_forward_reference(inputs);
  for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
    expect_bits(inputs, expected, placement);
  }
}

TEST(OpsThreeInterpolateForward, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  expect_reference_everywhere<float>({2, 67, 100, 33001}, random);
  expect_reference_everywhere<Half>({2, 67, 100, 33001}, random);
  // The direct kernel.
  expect_reference_in_both_types({2, 1, 100, 300001}, random, Placement::kMisaligned);
}

TEST(OpsThreeInterpolateForward, PacksWhereItPays) {
  const ScopedThreads threads(2);
  EXPECT_TRUE(is_packed({16, 128, 1024, 4096}));
  EXPECT_TRUE(is_packed({2, 16, 100, 1000}));
  EXPECT_FALSE(is_packed({2, 1, 100, 1000}));
  EXPECT_FALSE(is_packed({2, 16, 5000, 10}));
  EXPECT_FALSE(is_packed({2, 16, 1024, 40960}, MLUOP_DTYPE_FLOAT, 64));
  EXPECT_FALSE(is_packed({1, 16, int64_t{1} << 55, int64_t{1} << 55}));
}

TEST(OpsThreeInterpolateForward, ThreadCounts) {
  auto random = seeded_random();
  // Many work items, and few, where tasks share a strip; packed and direct.
  for (const Sizes& sizes : {Sizes{4, 40, 203, 1001}, {1, 9, 203, 20001}, {1, 2, 20001, 2003}}) {
    const auto floats = random_three_interpolate_forward<float>(sizes, random);
    const auto halves = random_three_interpolate_forward<Half>(sizes, random);
    const auto expected_floats = three_interpolate_forward_reference(floats);
    const auto expected_halves = three_interpolate_forward_reference(halves);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_bits(floats, expected_floats, Placement::kAligned);
      expect_bits(halves, expected_halves, Placement::kAligned);
    }
  }
}

TEST(OpsThreeInterpolateForward, NramSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const char* kib : {"1", "2", "3", "8", "64", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference_in_both_types({2, 21, 17, 3001}, random);
    expect_reference_in_both_types({2, 21, 555, 3001}, random);
    expect_reference_in_both_types({1, 3, 2001, 70}, random);
  }
}

TEST(OpsThreeInterpolateForward, ReusedHandle) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  const Handle handle;
  for (const int64_t points : {1000, 3, 5000, 1}) {
    const auto inputs = random_three_interpolate_forward<float>({2, 19, points / 2 + 1, points}, random);
    const ThreeInterpolateForwardCall<float> call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_TRUE(same_bits(call.results(), three_interpolate_forward_reference(inputs)));
  }
}

TEST(OpsThreeInterpolateForward, AgainstSumsInDouble) {
  auto random = seeded_random();
  const Sizes sizes{2, 30, 50, 2000};
  const auto check = [&](const auto& inputs, double tolerance) {
    std::vector<double> sums(static_cast<size_t>(sizes.output_count()));
    reference::three_interpolate_forward(sizes, inputs.features.data(), inputs.indices.data(),
                                         inputs.weights.data(), sums.data());
    const Handle handle;
    const ThreeInterpolateForwardCall call(handle, inputs);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    const auto [diff1, diff2] =
        differences(floats_of(call.results()), std::vector<float>(sums.begin(), sums.end()));
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
  };
  check(random_three_interpolate_forward<float>(sizes, random), kFloatTolerance);
  check(random_three_interpolate_forward<Half>(sizes, random), kHalfTolerance);
}

TEST(OpsThreeInterpolateForward, NanAndInfinity) {
  auto random = seeded_random();
  const float specials[] = {kNan, kInfinity, -kInfinity, -0.0F, 0x1p-149F, 0x1p-24F, 65504.0F};
  // Packed and direct.
  for (const Sizes& sizes : {Sizes{2, 18, 100, 400}, {2, 2, 100, 400}}) {
    auto floats = random_three_interpolate_forward<float>(sizes, random);
    auto halves = random_three_interpolate_forward<Half>(sizes, random);
    for (size_t i = 0; i < floats.features.size(); i += 97) {
      floats.features[i] = specials[i / 97 % std::size(specials)];
      halves.features[i] = to_f16(specials[i / 97 % std::size(specials)]);
    }
    for (size_t i = 0; i < floats.weights.size(); i += 101) {
      floats.weights[i] = specials[i / 101 % std::size(specials)];
      halves.weights[i] = to_f16(specials[i / 101 % std::size(specials)]);
    }
    expect_reference(floats);
    expect_reference(halves);
  }
}

// A sum of products -0 is -0: there is no initial value.
TEST(OpsThreeInterpolateForward, NegativeZero) {
  const ThreeInterpolateForwardInputs<float> inputs{{1, 1, 2, 1}, {-0.0F, 1}, {0, 0, 0}, {1, 1, 1}};
  expect_bits(inputs, {-0.0F}, Placement::kAligned);
}

// 2^24 + 1 is 2^24 in fp32: the order of the slots shows in the sum.
TEST(OpsThreeInterpolateForward, OrderOfAdditions) {
  const ThreeInterpolateForwardInputs<float> inputs{
      {1, 1, 3, 2}, {0x1p24F, 1, -0x1p24F}, {0, 1, 2, 0, 2, 1}, {1, 1, 1, 1, 1, 1}};
  expect_bits(inputs, {0, 1}, Placement::kAligned);
}

constexpr Sizes kDocumentSizes[] = {{16, 512, 16, 64},   {16, 256, 64, 256}, {16, 16, 512, 64},
                                    {16, 64, 256, 256},  {16, 1, 1024, 128}, {16, 128, 256, 512},
                                    {16, 256, 256, 1024}};
constexpr Sizes kLargeDocumentSizes[] = {
    {16, 128, 1024, 4096}, {16, 1024, 128, 4096}, {16, 512, 128, 2048}, {29, 2047, 2033, 999}};

TEST(OpsThreeInterpolateForward, DocumentSizes) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const Sizes& sizes : kDocumentSizes) expect_reference_in_both_types(sizes, random);
}

TEST(BigThreeInterpolateForward, DocumentSizes) {
  auto random = seeded_random();
  for (const Sizes& sizes : kLargeDocumentSizes) {
    expect_reference_in_both_types(sizes, random, Placement::kAgainstEnd);
  }
}

}  // namespace
}  // namespace mluop::test

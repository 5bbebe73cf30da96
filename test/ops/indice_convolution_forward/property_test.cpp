// Properties of mluOpIndiceConvolutionForward that need no oracle. Where results are compared after arithmetic,
// features and filters are integers small enough that fp32 and half represent all sums.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/indice_convolution_forward/call.h"
#include "support/compare.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

template <class T>
class OpsIndiceConvolutionForwardProperties : public ::testing::Test {
 protected:
  FilterLayout random_layout() { return kFilterLayouts[random() % 3]; }

  // Features and filters are in [-2, 2].
  IndiceConvolutionInputs<T> random_problem(int max_rows, int max_channels) {
    const IndiceConvolutionSizes sizes = {
        random_size(random, max_rows), random_size(random, max_rows), random_size(random, max_channels),
        random_size(random, 60),       random_size(random, 3),        random_size(random, 3),
        random_size(random, 3)};
    return random_indice_convolution<T>(sizes, random_layout(), random);
  }

  // For half: sums of few products. expect_exact() checks that they are small enough.
  IndiceConvolutionInputs<T> problem_with_exact_sums() {
    return sizeof(T) == 2 ? random_problem(20, 4) : random_problem(300, 60);
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsIndiceConvolutionForwardProperties, Elements);

template <class T>
std::vector<float> exact_result_of(const IndiceConvolutionInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm) {
  auto result = indice_convolution_result(inputs, algorithm);
  const float limit = sizeof(T) == 2 ? 0x1p11F : 0x1p24F;
  for (const float sum : result) EXPECT_LE(std::abs(sum), limit) << "the sums of this problem may be inexact";
  return result;
}

// a - b.
template <class T>
std::vector<T> difference(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> difference;
  for (size_t i = 0; i < a.size(); ++i) {
    difference.push_back(rounded_to<T>(double{to_f32(a[i])} - double{to_f32(b[i])}));
  }
  return difference;
}

// convolution(a) - convolution(b) = convolution(a - b), where a and b differ in the tensor `operand`.
template <class T>
void expect_linear(IndiceConvolutionInputs<T> inputs, std::vector<T> IndiceConvolutionInputs<T>::*operand,
                   std::mt19937& random) {
  const RandomTeam team(random);
  const std::vector<T> a = inputs.*operand;
  const std::vector<T> b = random_integers<T>(a.size(), random, 2);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    inputs.*operand = a;
    const auto of_a = exact_result_of(inputs, algorithm);
    inputs.*operand = b;
    const auto of_b = exact_result_of(inputs, algorithm);
    inputs.*operand = difference(a, b);
    // A difference of equal results is +0, as are rows without pairs; a sum of the library may be -0.
    EXPECT_EQ(exact_result_of(inputs, algorithm), difference(of_a, of_b));
  }
}

TYPED_TEST(OpsIndiceConvolutionForwardProperties, LinearInFeatures) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    expect_linear(this->problem_with_exact_sums(), &IndiceConvolutionInputs<TypeParam>::features, this->random);
  }
}

TYPED_TEST(OpsIndiceConvolutionForwardProperties, LinearInFilters) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    expect_linear(this->problem_with_exact_sums(), &IndiceConvolutionInputs<TypeParam>::filters, this->random);
  }
}

// One filter offset with the identity matrix, and pairs that permute the rows: the output is the permuted input.
TYPED_TEST(OpsIndiceConvolutionForwardProperties, IdentityFiltersCopy) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    const int rows = random_size(this->random, 500);
    const int64_t channels = random_size(this->random, 80);
    const IndiceConvolutionSizes sizes = {rows, rows, channels, channels, 1, 1, 1};
    auto inputs = random_indice_convolution<T>(sizes, this->random_layout(), this->random);
    make_fractional(inputs, this->random);
    for (int64_t ci = 0; ci < channels; ++ci) {
      for (int64_t co = 0; co < channels; ++co) {
        const int64_t index = reference::filter_index(sizes, inputs.layout, 0, ci, co);
        inputs.filters[static_cast<size_t>(index)] = rounded_to<T>(ci == co ? 1 : 0);
      }
    }
    const auto inputs_of = random_permutation(rows, this->random);
    const auto outputs_of = random_permutation(rows, this->random);
    inputs.indice_pairs = inputs_of;
    inputs.indice_pairs.insert(inputs.indice_pairs.end(), outputs_of.begin(), outputs_of.end());
    inputs.indice_num = {rows};
    std::vector<float> expected(inputs.features.size());
    for (size_t l = 0; l < inputs_of.size(); ++l) {
      for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
        expected[static_cast<size_t>(outputs_of[l] * channels) + c] =
            to_f32(inputs.features[static_cast<size_t>(inputs_of[l] * channels) + c]);
      }
    }
    const RandomTeam team(this->random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      EXPECT_TRUE(same_bits(indice_convolution_result(inputs, algorithm), expected));
    }
  }
}

TYPED_TEST(OpsIndiceConvolutionForwardProperties, NativeEqualsDevice) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->problem_with_exact_sums();
    const RandomTeam team(this->random);
    EXPECT_EQ(exact_result_of(inputs, MLUOP_OMP_ALGORITHM_NATIVE),
              exact_result_of(inputs, MLUOP_OMP_ALGORITHM_DEVICE));
  }
}

}  // namespace
}  // namespace mluop::test

// Properties of mluOpIndiceConvolutionBackwardFilter that need no oracle.
#include <gtest/gtest.h>

#include <vector>

#include "ops/indice_convolution_backward_filter/call.h"
#include "support/compare.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

template <class T>
class OpsIndiceConvolutionBackwardFilterProperties : public ::testing::Test {
 protected:
  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsIndiceConvolutionBackwardFilterProperties, Elements);

// The forward operator is linear in its filters: <forward(w), y> = <w, gradient(y)>, in integers.
TYPED_TEST(OpsIndiceConvolutionBackwardFilterProperties, IsTheAdjointOfForward) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const int64_t rows = random_size(this->random, 100), Ci = random_size(this->random, 9);
    const int64_t Co = random_size(this->random, 9);
    const auto inputs = random_indice_convolution_backward_filter<T>({rows, rows, Ci, Co, 1, 2, 2}, this->random);
    const IndiceConvolutionInputs<T> forward{
        inputs.sizes,
        FilterLayout::kArray,
        inputs.features,
        random_integers<T>(static_cast<size_t>(inputs.sizes.filters_count()), this->random, 2),
        inputs.indice_pairs,
        inputs.indice_num};
    const RandomTeam team(this->random);
    const auto output = indice_convolution_result(forward, MLUOP_OMP_ALGORITHM_NATIVE);
    const auto gradient = indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE);
    double of_forward = 0, of_gradient = 0;
    for (size_t i = 0; i < output.size(); ++i) of_forward += double{output[i]} * to_f32(inputs.output_grad[i]);
    for (size_t i = 0; i < gradient.size(); ++i) of_gradient += double{gradient[i]} * to_f32(forward.filters[i]);
    EXPECT_EQ(of_forward, of_gradient);
  }
}

// With exact sums the order of the pairs of an offset does not matter.
TYPED_TEST(OpsIndiceConvolutionBackwardFilterProperties, PairsInAnyOrder) {
  using T = TypeParam;
  const int64_t rows = 5000;
  auto inputs = random_indice_convolution_backward_filter<T>({rows, 700, 5, 18, 1, 1, 2}, this->random);
  inputs.indice_num.assign(2, rows);
  for (int32_t& index : inputs.indice_pairs) index = static_cast<int32_t>(this->random() % 700);
  const auto expected = indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE);
  for (int64_t k = 0; k < 2; ++k) {
    const auto order = random_permutation(static_cast<int>(rows), this->random);
    const auto pairs = inputs.indice_pairs;
    for (size_t l = 0; l < order.size(); ++l) {
      const auto first = static_cast<size_t>(2 * k * rows), from = static_cast<size_t>(order[l]);
      inputs.indice_pairs[first + l] = pairs[first + from];
      inputs.indice_pairs[first + static_cast<size_t>(rows) + l] = pairs[first + static_cast<size_t>(rows) + from];
    }
  }
  EXPECT_TRUE(same_bits(indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE), expected));
}

// The central differences of the loss <forward(filters), output_grad> in double. It is linear in each weight: the
// difference is exact but for rounding.
TYPED_TEST(OpsIndiceConvolutionBackwardFilterProperties, CentralDifferences) {
  using T = TypeParam;
  constexpr float kStep = 0x1p-4F;
  const double tolerance = sizeof(T) == 2 ? 1e-3 : 1e-6;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const IndiceConvolutionSizes sizes{random_size(this->random, 40),
                                       random_size(this->random, 40),
                                       random_size(this->random, 6),
                                       random_size(this->random, 20),
                                       1,
                                       2,
                                       2};
    auto inputs = random_indice_convolution_backward_filter<T>(sizes, this->random);
    make_fractional(inputs, this->random);
    IndiceConvolutionInputs<float> forward{sizes, FilterLayout::kArray, {},
                                           {},    inputs.indice_pairs,  inputs.indice_num};
    for (const T feature : inputs.features) forward.features.push_back(to_f32(feature));
    forward.filters = random_integers<float>(static_cast<size_t>(sizes.filters_count()), this->random, 2);
    const auto loss = [&] {
      const auto output = indice_convolution_sums(forward);
      double sum = 0;
      for (size_t i = 0; i < output.size(); ++i) sum += output[i] * to_f32(inputs.output_grad[i]);
      return sum;
    };
    std::vector<float> differences_of_loss;
    for (float& weight : forward.filters) {
      const float at = weight;
      weight = at + kStep;
      const double above = loss();
      weight = at - kStep;
      const double below = loss();
      weight = at;
      differences_of_loss.push_back(static_cast<float>((above - below) / (2 * double{kStep})));
    }
    const RandomTeam team(this->random);
    const auto [diff1, diff2] = differences(
        indice_convolution_backward_filter_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE), differences_of_loss);
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
  }
}

}  // namespace
}  // namespace mluop::test

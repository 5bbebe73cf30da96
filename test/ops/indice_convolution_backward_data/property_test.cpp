// Properties of mluOpIndiceConvolutionBackwardData that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ops/indice_convolution_backward_data/call.h"
#include "support/compare.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

template <class T>
class OpsIndiceConvolutionBackwardDataProperties : public ::testing::Test {
 protected:
  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(OpsIndiceConvolutionBackwardDataProperties, Elements);

// The forward operator with inputs and outputs exchanged and the matrices of the filters transposed, bit for bit.
TYPED_TEST(OpsIndiceConvolutionBackwardDataProperties, IsTheTransposedForward) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const int64_t rows = random_size(this->random, 2000);
    const int64_t Ci = random_size(this->random, 60), Co = random_size(this->random, 60);
    auto inputs = random_indice_convolution_backward_data<T>({rows, rows, Ci, Co, 1, 3, 2},
                                                             kFilterFormats[this->random() % 3], this->random);
    make_fractional(inputs, this->random);
    // [K, Ci, Co] are the transposed filters in the layout [K, Ci', Co'].
    IndiceConvolutionInputs<T> forward{{rows, rows, Co, Ci, 1, 3, 2}, FilterLayout::kArray, inputs.output_grad, {},
                                       inputs.indice_pairs,           inputs.indice_num};
    for (int64_t k = 0; k < 6; ++k) {
      for (int64_t co = 0; co < Co; ++co) {
        for (int64_t ci = 0; ci < Ci; ++ci) {
          forward.filters.push_back(inputs.filters[static_cast<size_t>((k * Ci + ci) * Co + co)]);
        }
      }
      int32_t* const pairs = forward.indice_pairs.data() + 2 * k * rows;
      std::swap_ranges(pairs, pairs + rows, pairs + rows);
    }
    const RandomTeam team(this->random);
    EXPECT_TRUE(same_bits(indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE),
                          indice_convolution_result(forward, MLUOP_OMP_ALGORITHM_NATIVE)));
  }
}

// It is the adjoint of the forward operator: <forward(x), y> = <x, gradient(y)>, in integers.
TYPED_TEST(OpsIndiceConvolutionBackwardDataProperties, IsTheAdjointOfForward) {
  using T = TypeParam;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const int64_t rows = random_size(this->random, 100), Ci = random_size(this->random, 9);
    const int64_t Co = random_size(this->random, 9);
    const auto inputs =
        random_indice_convolution_backward_data<T>({rows, rows, Ci, Co, 1, 2, 2}, kFilterFormats[2], this->random);
    const IndiceConvolutionInputs<T> forward{
        inputs.sizes,   FilterLayout::kArray, random_integers<T>(static_cast<size_t>(rows * Ci), this->random, 2),
        inputs.filters, inputs.indice_pairs,  inputs.indice_num};
    const RandomTeam team(this->random);
    const auto output = indice_convolution_result(forward, MLUOP_OMP_ALGORITHM_NATIVE);
    const auto gradient = indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE);
    double of_forward = 0, of_gradient = 0;
    for (size_t i = 0; i < output.size(); ++i) of_forward += double{output[i]} * to_f32(inputs.output_grad[i]);
    for (size_t i = 0; i < gradient.size(); ++i) of_gradient += double{gradient[i]} * to_f32(forward.features[i]);
    EXPECT_EQ(of_forward, of_gradient);
  }
}

// The central differences of the loss <forward(features), output_grad> in double. It is linear in each feature:
// the difference is exact but for rounding.
TYPED_TEST(OpsIndiceConvolutionBackwardDataProperties, CentralDifferences) {
  using T = TypeParam;
  constexpr float kStep = 0x1p-4F;
  const double tolerance = sizeof(T) == 2 ? 1e-3 : 1e-6;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const IndiceConvolutionSizes sizes{random_size(this->random, 20),
                                       random_size(this->random, 20),
                                       random_size(this->random, 6),
                                       random_size(this->random, 20),
                                       1,
                                       3,
                                       3};
    auto inputs = random_indice_convolution_backward_data<T>(sizes, kFilterFormats[2], this->random);
    make_fractional(inputs, this->random);
    IndiceConvolutionInputs<float> forward{sizes, FilterLayout::kArray, {},
                                           {},    inputs.indice_pairs,  inputs.indice_num};
    forward.features = random_integers<float>(static_cast<size_t>(sizes.features_count()), this->random, 2);
    for (const T weight : inputs.filters) forward.filters.push_back(to_f32(weight));
    const auto loss = [&] {
      const auto output = indice_convolution_sums(forward);
      double sum = 0;
      for (size_t i = 0; i < output.size(); ++i) sum += output[i] * to_f32(inputs.output_grad[i]);
      return sum;
    };
    std::vector<float> differences_of_loss;
    for (float& feature : forward.features) {
      const float at = feature;
      feature = at + kStep;
      const double above = loss();
      feature = at - kStep;
      const double below = loss();
      feature = at;
      differences_of_loss.push_back(static_cast<float>((above - below) / (2 * double{kStep})));
    }
    const RandomTeam team(this->random);
    const auto [diff1, diff2] = differences(
        indice_convolution_backward_data_result(inputs, MLUOP_OMP_ALGORITHM_NATIVE), differences_of_loss);
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
  }
}

}  // namespace
}  // namespace mluop::test

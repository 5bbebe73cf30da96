// Compares networks on the library with networks on the oracles, and the latter with finite differences.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "case/networks/operators.h"
#include "case/networks/tensor.h"

namespace mluop::test {

using namespace networks;

// Compares with a tolerance in units of the largest magnitude of `expected`.
inline void expect_near(const Matrix& found, const Matrix& expected) {
  constexpr float kTolerance = 1e-5F;
  float magnitude = 0;
  for (const float value : expected.values) magnitude = std::max(magnitude, std::abs(value));
  ASSERT_TRUE(magnitude > 0 || expected.values.empty());
  EXPECT_THAT(found.values, ::testing::Pointwise(::testing::FloatNear(kTolerance * magnitude), expected.values));
}

// Compares the results of both algorithms, forward and backward, with the results of the oracles.
template <class Network>
void expect_results_of_oracles(const Network& network) {
  const Result expected = compute(network, Oracles());
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const cases::Handle handle(algorithm);
    const Result found = compute(network, Library(handle));
    EXPECT_EQ(found.indices, expected.indices);
    expect_near(found.output, expected.output);
    for (size_t i = 0; i < expected.gradients.size(); ++i) {
      SCOPED_TRACE(expected.gradients[i].first);
      expect_near(found.gradients.at(i).second, expected.gradients[i].second);
    }
  }
}

// Compares the gradients of inputs, in the order of the results, with central differences of sum(output *
// grad_output), at the element with the largest gradient and in the middle. Adds the changes of the outputs, since
// the sum itself would lose too many digits.
template <class Network>
void expect_finite_differences(const Network& network, const std::vector<Matrix*>& inputs,
                               const Matrix& grad_output, float step = 0x1p-7F) {
  constexpr double kTolerance = 2e-3;
  const Result result = compute(network, Oracles());
  const auto loss = [&] {
    const Matrix output = compute(network, Oracles(), false).output;
    double sum = 0;
    for (size_t i = 0; i < output.values.size(); ++i) {
      sum += (double{output.values[i]} - double{result.output.values[i]}) * double{grad_output.values[i]};
    }
    return sum;
  };
  ASSERT_EQ(result.gradients.size(), inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto& [name, gradient] = result.gradients[k];
    const auto largest = std::max_element(gradient.values.begin(), gradient.values.end(),
                                          [](float x, float y) { return std::abs(x) < std::abs(y); });
    for (const auto i : {largest - gradient.values.begin(), std::ssize(gradient.values) / 2}) {
      SCOPED_TRACE(name + ' ' + std::to_string(i));
      float& input = inputs[k]->values[static_cast<size_t>(i)];
      const float value = input, above = value + step, below = value - step;
      input = above;
      const double loss_above = loss();
      input = below;
      const double difference = (loss_above - loss()) / (double{above} - double{below});
      input = value;
      const double expected = gradient.values[static_cast<size_t>(i)];
      EXPECT_NEAR(difference, expected, kTolerance * std::max(1.0, std::abs(expected)));
    }
  }
}

}  // namespace mluop::test

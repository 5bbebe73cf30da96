// Comparisons of the results of networks and of their gradients.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "networks/tensor.h"

namespace mluop::test {

// sum(x * y), the scalar whose gradients the tests compare.
template <class F, class G>
F inner_product(const Matrix<F>& x, const Matrix<G>& y) {
  F sum = 0;
  for (size_t i = 0; i < x.values.size(); ++i) sum += x.values[i] * static_cast<F>(y.values[i]);
  return sum;
}

// Compares with the largest magnitude of `expected` as the unit.
inline void expect_near(const Matrix<float>& found, const Matrix<double>& expected, double tolerance) {
  ASSERT_EQ(found.values.size(), expected.values.size());
  double magnitude = 0;
  for (const double value : expected.values) magnitude = std::max(magnitude, std::abs(value));
  ASSERT_GT(magnitude, 0);
  double worst = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double difference = std::abs(double{found.values[i]} - expected.values[i]);
    if (!(difference <= worst) && !std::isnan(worst)) worst = difference;
  }
  EXPECT_LE(worst, tolerance * magnitude) << "the largest magnitude is " << magnitude;
}

// A parameter, and the gradient of a loss with respect to it.
struct ParameterGradient {
  float* parameter;
  double gradient;
};

// Compares gradients with central differences of the loss.
template <class Loss>
void expect_gradient(const Loss& loss, const std::vector<ParameterGradient>& gradients) {
  constexpr float kStep = 0x1p-16F;
  for (const auto& [parameter, gradient] : gradients) {
    const float value = *parameter, above = value + kStep, below = value - kStep;
    *parameter = above;
    const double loss_above = loss();
    *parameter = below;
    const double difference = (loss_above - loss()) / (double{above} - double{below});
    *parameter = value;
    EXPECT_NEAR(difference, gradient, 1e-5 * std::max(1.0, std::abs(gradient)));
  }
}

}  // namespace mluop::test

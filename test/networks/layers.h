// The dense layers between the operators of a network, and tensors as a caller of the library holds them. F is
// float where the library computes the operators, double where the references of a test do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "support/api.h"

namespace mluop::test {

// Row-major.
template <class F>
struct Matrix {
  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), values(static_cast<size_t>(row_count * column_count)) {}
  template <class From>
  explicit Matrix(const Matrix<From>& from) : Matrix(from.rows, from.columns) {
    std::transform(from.values.begin(), from.values.end(), values.begin(),
                   [](From value) { return static_cast<F>(value); });
  }

  F* operator[](int64_t row) { return values.data() + row * columns; }
  const F* operator[](int64_t row) const { return values.data() + row * columns; }
  F* data() { return values.data(); }
  const F* data() const { return values.data(); }

  int64_t rows, columns;
  std::vector<F> values;
};

// Of the given magnitude, exact in float.
inline Matrix<float> random_matrix(int64_t rows, int64_t columns, float magnitude, std::mt19937& random) {
  std::uniform_real_distribution<float> distribution(-magnitude, magnitude);
  Matrix<float> matrix(rows, columns);
  for (float& value : matrix.values) value = distribution(random);
  return matrix;
}

// x * weights
template <class F>
Matrix<F> linear(const Matrix<F>& x, const Matrix<F>& weights) {
  Matrix<F> y(x.rows, weights.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t k = 0; k < x.columns; ++k) {
      for (int64_t j = 0; j < y.columns; ++j) y[i][j] += x[i][k] * weights[k][j];
    }
  }
  return y;
}

// The gradient of the weights: transposed x * grad.
template <class F>
Matrix<F> linear_grad_weights(const Matrix<F>& x, const Matrix<F>& grad) {
  Matrix<F> result(x.columns, grad.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t k = 0; k < x.columns; ++k) {
      for (int64_t j = 0; j < grad.columns; ++j) result[k][j] += x[i][k] * grad[i][j];
    }
  }
  return result;
}

// The gradient of the input: grad * transposed weights.
template <class F>
Matrix<F> linear_grad_input(const Matrix<F>& grad, const Matrix<F>& weights) {
  Matrix<F> result(grad.rows, weights.rows);
  for (int64_t i = 0; i < grad.rows; ++i) {
    for (int64_t k = 0; k < weights.rows; ++k) {
      for (int64_t j = 0; j < grad.columns; ++j) result[i][k] += grad[i][j] * weights[k][j];
    }
  }
  return result;
}

// log(1 + exp(x)), in place of the networks' max(x, 0): the rounding of an operator then decides no branch.
template <class F>
Matrix<F> softplus(Matrix<F> x) {
  for (F& value : x.values) value = std::max(value, F{0}) + std::log1p(std::exp(-std::abs(value)));
  return x;
}

// The gradient of x, where `grad` is that of softplus(x).
template <class F>
Matrix<F> softplus_grad(const Matrix<F>& x, Matrix<F> grad) {
  for (size_t i = 0; i < x.values.size(); ++i) grad.values[i] /= 1 + std::exp(-x.values[i]);
  return grad;
}

// [left, right]
template <class F>
Matrix<F> concatenate(const Matrix<F>& left, const Matrix<F>& right) {
  Matrix<F> result(left.rows, left.columns + right.columns);
  for (int64_t i = 0; i < left.rows; ++i) {
    std::copy_n(left[i], left.columns, result[i]);
    std::copy_n(right[i], right.columns, result[i] + left.columns);
  }
  return result;
}

template <class F>
Matrix<F> transpose(const Matrix<F>& matrix) {
  Matrix<F> result(matrix.columns, matrix.rows);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    for (int64_t j = 0; j < matrix.columns; ++j) result[j][i] = matrix[i][j];
  }
  return result;
}

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
    worst = std::max(worst, std::abs(double{found.values[i]} - expected.values[i]));
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

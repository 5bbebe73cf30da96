// The dense layers between the operators of a network.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "networks/tensor.h"

namespace mluop::test {

struct SerialRows {
  // Calls body(begin, end) for ranges of rows that cover [0, rows).
  template <class Body>
  static void for_rows(int64_t rows, const Body& body) {
    body(int64_t{0}, rows);
  }
};

// Rows::for_rows() divides the rows of a result.
template <class F, class Rows = SerialRows>
struct DenseLayers : Rows {
  using Float = F;
  using Rows::for_rows;

  // x * weights
  static Matrix<F> linear(const Matrix<F>& x, const Matrix<F>& weights) {
    auto y = zeros<F>(x.rows, weights.columns);
    for_rows(y.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < x.columns; ++k) {
          for (int64_t j = 0; j < y.columns; ++j) y[i][j] += x[i][k] * weights[k][j];
        }
      }
    });
    return y;
  }

  // The gradient of the weights: transposed x * grad.
  static Matrix<F> linear_grad_weights(const Matrix<F>& x, const Matrix<F>& grad) {
    auto result = zeros<F>(x.columns, grad.columns);
    for_rows(result.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < x.rows; ++i) {
        for (int64_t k = begin; k < end; ++k) {
          for (int64_t j = 0; j < grad.columns; ++j) result[k][j] += x[i][k] * grad[i][j];
        }
      }
    });
    return result;
  }

  // The gradient of the input: grad * transposed weights.
  static Matrix<F> linear_grad_input(const Matrix<F>& grad, const Matrix<F>& weights) {
    auto result = zeros<F>(grad.rows, weights.rows);
    for_rows(result.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < weights.rows; ++k) {
          for (int64_t j = 0; j < grad.columns; ++j) result[i][k] += grad[i][j] * weights[k][j];
        }
      }
    });
    return result;
  }

  // (x + sqrt(x^2 + 4)) / 2, in place of the networks' max(x, 0): the rounding of an operator then decides no
  // branch.
  static Matrix<F> squareplus(const Matrix<F>& x) {
    Matrix<F> y(x.rows, x.columns);
    for_elements(y, [from = x.data(), to = y.data()](int64_t i) {
      to[i] = (from[i] + std::sqrt(from[i] * from[i] + 4)) / 2;
    });
    return y;
  }

  // The gradient of x, where `grad` is that of squareplus(x).
  static Matrix<F> squareplus_grad(const Matrix<F>& x, const Matrix<F>& grad) {
    Matrix<F> result(x.rows, x.columns);
    for_elements(result, [from = x.data(), factor = grad.data(), to = result.data()](int64_t i) {
      to[i] = factor[i] * (1 + from[i] / std::sqrt(from[i] * from[i] + 4)) / 2;
    });
    return result;
  }

  // x += y
  static void add(Matrix<F>& x, const Matrix<F>& y) {
    for_elements(x, [from = y.data(), to = x.data()](int64_t i) { to[i] += from[i]; });
  }

  // [left, right]
  static Matrix<F> concatenate(const Matrix<F>& left, const Matrix<F>& right) {
    Matrix<F> result(left.rows, left.columns + right.columns);
    for_rows(result.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(left[i], left.columns, result[i]);
        std::copy_n(right[i], right.columns, result[i] + left.columns);
      }
    });
    return result;
  }

  // The columns [first, first + count).
  static Matrix<F> columns_of(const Matrix<F>& matrix, int64_t first, int64_t count) {
    Matrix<F> result(matrix.rows, count);
    for_rows(result.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(matrix[i] + first, count, result[i]);
    });
    return result;
  }

 private:
  template <class Body>
  static void for_elements(const Matrix<F>& matrix, const Body& body) {
    for_rows(matrix.rows, [&, columns = matrix.columns](int64_t begin, int64_t end) {
      const Body element = body;
      for (int64_t i = begin * columns; i < end * columns; ++i) element(i);
    });
  }
};

}  // namespace mluop::test

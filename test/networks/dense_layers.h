// The dense layers between the operators of a network.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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
template <class Rows = SerialRows>
struct DenseLayers : Rows {
  using Rows::for_rows;

  // x * weights, with sums in double.
  static Matrix linear(const Matrix& x, const Matrix& weights) {
    Matrix y(x.rows, weights.columns);
    for_rows(y.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::vector<double> sums(static_cast<size_t>(y.columns));
        for (int64_t k = 0; k < x.columns; ++k) {
          for (size_t j = 0; j < sums.size(); ++j) sums[j] += double{x[i][k]} * double{weights[k][j]};
        }
        std::transform(sums.begin(), sums.end(), y[i], [](double sum) { return static_cast<float>(sum); });
      }
    });
    return y;
  }

  // The gradient of the weights.
  static Matrix linear_grad_weights(const Matrix& x, const Matrix& grad) { return linear(transposed(x), grad); }

  // The gradient of the input.
  static Matrix linear_grad_input(const Matrix& grad, const Matrix& weights) {
    return linear(grad, transposed(weights));
  }

  // (x + sqrt(x^2 + 4)) / 2, in place of the networks' max(x, 0): the rounding of an operator then decides no
  // branch.
  static Matrix squareplus(const Matrix& x) {
    Matrix y(x.rows, x.columns);
    for_elements(y, [from = x.data(), to = y.data()](int64_t i) {
      to[i] = (from[i] + std::sqrt(from[i] * from[i] + 4)) / 2;
    });
    return y;
  }

  // The gradient of x, where `grad` is that of squareplus(x).
  static Matrix squareplus_grad(const Matrix& x, const Matrix& grad) {
    Matrix result(x.rows, x.columns);
    for_elements(result, [from = x.data(), factor = grad.data(), to = result.data()](int64_t i) {
      to[i] = factor[i] * (1 + from[i] / std::sqrt(from[i] * from[i] + 4)) / 2;
    });
    return result;
  }

  // x += y
  static void add(Matrix& x, const Matrix& y) {
    for_elements(x, [from = y.data(), to = x.data()](int64_t i) { to[i] += from[i]; });
  }

  // [left, right]
  static Matrix concatenate(const Matrix& left, const Matrix& right) {
    Matrix result(left.rows, left.columns + right.columns);
    for_rows(result.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(left[i], left.columns, result[i]);
        std::copy_n(right[i], right.columns, result[i] + left.columns);
      }
    });
    return result;
  }

  // The columns [first, first + count).
  static Matrix columns_of(const Matrix& matrix, int64_t first, int64_t count) {
    Matrix result(matrix.rows, count);
    for_rows(result.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::copy_n(matrix[i] + first, count, result[i]);
    });
    return result;
  }

 private:
  static Matrix transposed(const Matrix& x) {
    Matrix result(x.columns, x.rows);
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t k = 0; k < x.columns; ++k) result[k][i] = x[i][k];
    }
    return result;
  }

  template <class Body>
  static void for_elements(const Matrix& matrix, const Body& body) {
    for_rows(matrix.rows, [&, columns = matrix.columns](int64_t begin, int64_t end) {
      const Body element = body;
      for (int64_t i = begin * columns; i < end * columns; ++i) element(i);
    });
  }
};

}  // namespace mluop::test

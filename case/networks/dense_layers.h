// The dense layers between the operators of a network.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "case/networks/tensor.h"

namespace mluop::networks {

struct SerialLoops {
  // Calls body(begin, end) for ranges of rows that cover [0, rows).
  template <class Body>
  static void for_rows(int64_t rows, const Body& body) {
    body(int64_t{0}, rows);
  }

  // x * y with x transposed if `transpose_x` is 'T', else 'N'; likewise y. The sums are in double.
  static Matrix product(char transpose_x, char transpose_y, const Matrix& x, const Matrix& y) {
    const bool tx = transpose_x == 'T', ty = transpose_y == 'T';
    Matrix result(tx ? x.columns : x.rows, ty ? y.rows : y.columns);
    for (int64_t i = 0; i < result.rows; ++i) {
      for (int64_t j = 0; j < result.columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < (tx ? x.rows : x.columns); ++k) {
          sum += double{tx ? x[k][i] : x[i][k]} * double{ty ? y[j][k] : y[k][j]};
        }
        result[i][j] = static_cast<float>(sum);
      }
    }
    return result;
  }
};

// Dense layers. Loops: an interface like SerialLoops.
template <class Loops = SerialLoops>
struct DenseLayers : Loops {
  using Loops::for_rows, Loops::product;

  static Matrix linear(const Matrix& x, const Matrix& weights) { return product('N', 'N', x, weights); }
  // The gradients of linear(); `grad` is the gradient of its result.
  static Matrix linear_grad_weights(const Matrix& x, const Matrix& grad) { return product('T', 'N', x, grad); }
  static Matrix linear_grad_input(const Matrix& grad, const Matrix& weights) {
    return product('N', 'T', grad, weights);
  }

  // (x + sqrt(x^2 + 4)) / 2, in place of the networks' max(x, 0): a rounding error of an operator then decides no
  // branch.
  static Matrix squareplus(const Matrix& x) {
    Matrix y(x.rows, x.columns);
    for_elements(y, [from = x.data(), to = y.data()](int64_t i) {
      to[i] = (from[i] + std::sqrt(from[i] * from[i] + 4)) / 2;
    });
    return y;
  }

  // The gradient of x; `grad` is the gradient of squareplus(x).
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
  template <class Body>
  static void for_elements(const Matrix& matrix, const Body& body) {
    for_rows(matrix.rows, [&, columns = matrix.columns](int64_t begin, int64_t end) {
      const Body element = body;
      for (int64_t i = begin * columns; i < end * columns; ++i) element(i);
    });
  }
};

}  // namespace mluop::networks

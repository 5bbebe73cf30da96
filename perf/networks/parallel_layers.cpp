#include "perf/networks/parallel_layers.h"

#include <dnnl.h>

#include <stdexcept>

namespace mluop::perf {
namespace {

using Matrix = test::Matrix<float>;

// x * y with x transposed if `transpose_x` is 'T', likewise y.
Matrix product(char transpose_x, char transpose_y, const Matrix& x, const Matrix& y) {
  const int64_t rows = transpose_x == 'T' ? x.columns : x.rows;
  const int64_t terms = transpose_x == 'T' ? x.rows : x.columns;
  Matrix result(rows, transpose_y == 'T' ? y.rows : y.columns);
  if (dnnl_sgemm(transpose_x, transpose_y, rows, result.columns, terms, 1, x.data(), x.columns, y.data(),
                 y.columns, 0, result.data(), result.columns) != dnnl_success) {
    throw std::runtime_error("dnnl_sgemm failed");
  }
  return result;
}

}  // namespace

Matrix ParallelLayers::linear(const Matrix& x, const Matrix& weights) { return product('N', 'N', x, weights); }

Matrix ParallelLayers::linear_grad_weights(const Matrix& x, const Matrix& grad) {
  return product('T', 'N', x, grad);
}

Matrix ParallelLayers::linear_grad_input(const Matrix& grad, const Matrix& weights) {
  return product('N', 'T', grad, weights);
}

}  // namespace mluop::perf

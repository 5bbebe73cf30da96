// The dynamic voxel feature encoder of MVX-Net: means, two shared layers and maxima over the points of each voxel,
// forward and backward. Without batch normalization and the offsets from the centers of voxels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "mlu_op.h"
#include "networks/dense_layers.h"
#include "networks/tensor.h"

namespace mluop::test::mvx_net {

using Voxel = std::array<int32_t, 3>;  // z, y, x

inline constexpr int64_t kOffsets = 3;

struct Encoder {
  Matrix<float> points;         // x, y, z, and other channels
  std::vector<Voxel> voxels;    // of the points; negative if out of range
  Matrix<float> first, second;  // weights of the layers: [channels + kOffsets, hidden], [2 * hidden, outputs]
  Matrix<float> grad_output;    // a row for each point, of which the first are used
};

// The reduction of points to voxels. Voxels are in the order of their coordinates.
template <class F>
struct Scatter {
  Matrix<F> features;
  Values<Voxel> voxels;
  Values<int32_t> voxel_of, counts;  // of the points, -1 if there is none; of the voxels
};

// What the forward pass keeps for the backward pass.
template <class F>
struct Activations {
  Matrix<F> points;
  Scatter<F> means, maxima, output;
  Matrix<F> inputs, first_sums, hidden, joined, second_sums, last;
};

template <class F>
struct Gradients {
  Matrix<F> points, first, second;
};

// Rows of voxels at their points, zero where there is no voxel.
template <class F, class Dense>
Matrix<F> at_points(const Matrix<F>& voxel_features, const Values<int32_t>& voxel_of, const Dense& dense) {
  Matrix<F> result(static_cast<int64_t>(voxel_of.size()), voxel_features.columns);
  dense.for_rows(result.rows, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int32_t v = voxel_of[static_cast<size_t>(n)];
      if (v >= 0) {
        std::copy_n(voxel_features[v], result.columns, result[n]);
      } else {
        std::fill_n(result[n], result.columns, F{0});
      }
    }
  });
  return result;
}

// The first kOffsets columns of x minus those of y.
template <class F, class Dense>
Matrix<F> offsets(const Matrix<F>& x, const Matrix<F>& y, const Dense& dense) {
  Matrix<F> result(x.rows, kOffsets);
  dense.for_rows(x.rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t c = 0; c < kOffsets; ++c) result[i][c] = x[i][c] - y[i][c];
    }
  });
  return result;
}

template <class Operators, class Dense = DenseLayers<typename Operators::Float>>
auto forward(const Encoder& encoder, const Operators& operators, const Dense& dense = {}) {
  using F = typename Operators::Float;
  Activations<F> a;
  a.points = Matrix<F>(encoder.points);
  a.means = operators.scatter(MLUOP_REDUCE_DMEAN, a.points, encoder.voxels);
  a.inputs =
      dense.concatenate(a.points, offsets(a.points, at_points(a.means.features, a.means.voxel_of, dense), dense));
  a.first_sums = dense.linear(a.inputs, as<F>(encoder.first));
  a.hidden = dense.squareplus(a.first_sums);
  a.maxima = operators.scatter(MLUOP_REDUCE_DMAX, a.hidden, encoder.voxels);
  a.joined = dense.concatenate(a.hidden, at_points(a.maxima.features, a.maxima.voxel_of, dense));
  a.second_sums = dense.linear(a.joined, as<F>(encoder.second));
  a.last = dense.squareplus(a.second_sums);
  a.output = operators.scatter(MLUOP_REDUCE_DMAX, a.last, encoder.voxels);
  return a;
}

template <class F, class Operators, class Dense = DenseLayers<F>>
Gradients<F> backward(const Encoder& encoder, const Activations<F>& a, const Operators& operators,
                      const Dense& dense = {}) {
  const int64_t channels = a.points.columns, hidden = a.hidden.columns;
  Matrix<F> grad_output(a.output.features.rows, a.output.features.columns);
  std::copy_n(encoder.grad_output.values.begin(), grad_output.values.size(), grad_output.values.begin());
  const auto grad_second_sums = dense.squareplus_grad(
      a.second_sums, operators.scatter_grad(MLUOP_REDUCE_DMAX, a.last, a.output, grad_output));
  const auto grad_joined = dense.linear_grad_input(grad_second_sums, as<F>(encoder.second));
  // The gradient of a voxel's maximum is the sum of those of its points.
  const auto grad_maxima =
      operators.scatter(MLUOP_REDUCE_DSUM, dense.columns_of(grad_joined, hidden, hidden), encoder.voxels);
  auto grad_hidden = dense.columns_of(grad_joined, 0, hidden);
  dense.add(grad_hidden, operators.scatter_grad(MLUOP_REDUCE_DMAX, a.hidden, a.maxima, grad_maxima.features));
  const auto grad_first_sums = dense.squareplus_grad(a.first_sums, grad_hidden);
  const auto grad_inputs = dense.linear_grad_input(grad_first_sums, as<F>(encoder.first));
  // The gradients of the offsets, with a column of zeros for each other channel.
  const auto grad_offsets = dense.concatenate(dense.columns_of(grad_inputs, channels, kOffsets),
                                              zeros<F>(grad_inputs.rows, channels - kOffsets));
  auto grad_means = operators.scatter(MLUOP_REDUCE_DSUM, grad_offsets, encoder.voxels).features;
  for (F& value : grad_means.values) value = -value;
  auto grad_points = dense.columns_of(grad_inputs, 0, channels);
  dense.add(grad_points, grad_offsets);
  dense.add(grad_points, operators.scatter_grad(MLUOP_REDUCE_DMEAN, a.points, a.means, grad_means));
  return {grad_points, dense.linear_grad_weights(a.inputs, grad_first_sums),
          dense.linear_grad_weights(a.joined, grad_second_sums)};
}

}  // namespace mluop::test::mvx_net

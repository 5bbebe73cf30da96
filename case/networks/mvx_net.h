// The dynamic voxel feature encoder of MVX-Net: means, two shared layers and maxima over the points of each voxel,
// forward and backward. Without batch normalization and the offsets from the centers of voxels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "case/networks/dense_layers.h"
#include "case/networks/operators.h"
#include "case/networks/tensor.h"
#include "mlu_op.h"

namespace mluop::networks::mvx_net {

inline constexpr int64_t kOffsets = 3;

struct Encoder {
  Matrix points;                // x, y, z, and other channels
  std::vector<int32_t> voxels;  // [points, 3]: z, y, x; negative if out of range
  Matrix first, second;         // weights of the layers: [channels + kOffsets, hidden], [2 * hidden, outputs]
  Matrix grad_output;           // a row for each point; the first rows are used
};

// The reduction of points to voxels. Voxels are in the order of their coordinates.
struct Scatter {
  Matrix features;
  Values<int32_t> voxels, voxel_of, counts;  // [voxels, 3]; of the points, -1 if there is none; of the voxels
};

inline Scatter scatter(const Operators& operators, mluOpReduceMode_t mode, const Matrix& features,
                       const std::vector<int32_t>& voxels) {
  const int64_t N = features.rows;
  const auto size = static_cast<size_t>(N);
  Scatter result{{N, features.columns}, Values<int32_t>(size * 3), Values<int32_t>(size), Values<int32_t>(size)};
  Values<int32_t> coors(voxels.begin(), voxels.end());  // which the operator may change
  int32_t count = 0;
  operators.call("dynamic_point_to_voxel_forward",
                 {tensor(features), tensor(coors.data(), {N, 3}), tensor(result.features),
                  tensor(result.voxels.data(), {N, 3}), tensor(result.voxel_of.data(), {N}),
                  tensor(result.counts.data(), {N}), tensor(&count, {1})},
                 parameters({{"reduce_type", mode}}));
  result.features.rows = count;
  result.features.values.resize(static_cast<size_t>(count * features.columns));
  result.voxels.resize(static_cast<size_t>(count) * 3);
  result.counts.resize(static_cast<size_t>(count));
  return result;
}

// The gradient of the features; `grad` is the gradient of scattered.features.
inline Matrix scatter_grad(const Operators& operators, mluOpReduceMode_t mode, const Matrix& features,
                           const Scatter& scattered, const Matrix& grad) {
  const auto voxels = static_cast<int32_t>(grad.rows);
  Matrix result(features.rows, features.columns);
  operators.call("dynamic_point_to_voxel_backward",
                 {tensor(grad), tensor(features), tensor(scattered.features),
                  tensor(scattered.voxel_of.data(), {features.rows}), tensor(scattered.counts.data(), {grad.rows}),
                  tensor(&voxels, {1}), tensor(result)},
                 parameters({{"reduce_type", mode}}));
  return result;
}

// Copies the rows of voxels to their points, zero for points without a voxel.
template <class Dense>
Matrix at_points(const Matrix& voxel_features, const Values<int32_t>& voxel_of, const Dense& dense) {
  Matrix result(static_cast<int64_t>(voxel_of.size()), voxel_features.columns);
  dense.for_rows(result.rows, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int32_t v = voxel_of[static_cast<size_t>(n)];
      if (v >= 0) {
        std::copy_n(voxel_features[v], result.columns, result[n]);
      } else {
        std::fill_n(result[n], result.columns, 0.0F);
      }
    }
  });
  return result;
}

// The first kOffsets columns of x minus the columns of y.
template <class Dense>
Matrix offsets(const Matrix& x, const Matrix& y, const Dense& dense) {
  Matrix result(x.rows, kOffsets);
  dense.for_rows(x.rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t c = 0; c < kOffsets; ++c) result[i][c] = x[i][c] - y[i][c];
    }
  });
  return result;
}

// The forward pass, and the backward pass if the network `trains`.
template <class Dense = DenseLayers<>>
Result compute(const Encoder& encoder, const Operators& operators, bool trains = true, const Dense& dense = {}) {
  const Matrix& points = encoder.points;

  const Scatter means = scatter(operators, MLUOP_REDUCE_DMEAN, points, encoder.voxels);
  const Matrix inputs =
      dense.concatenate(points, offsets(points, at_points(means.features, means.voxel_of, dense), dense));
  const Matrix first_sums = dense.linear(inputs, encoder.first), hidden = dense.squareplus(first_sums);
  const Scatter maxima = scatter(operators, MLUOP_REDUCE_DMAX, hidden, encoder.voxels);
  const Matrix joined = dense.concatenate(hidden, at_points(maxima.features, maxima.voxel_of, dense));
  const Matrix second_sums = dense.linear(joined, encoder.second), last = dense.squareplus(second_sums);
  Scatter output = scatter(operators, MLUOP_REDUCE_DMAX, last, encoder.voxels);

  Result result;
  if (trains) {
    const int64_t channels = points.columns, hidden_channels = hidden.columns;
    Matrix grad_output(output.features.rows, output.features.columns);
    std::copy_n(encoder.grad_output.values.begin(), grad_output.values.size(), grad_output.values.begin());
    const Matrix grad_second_sums =
        dense.squareplus_grad(second_sums, scatter_grad(operators, MLUOP_REDUCE_DMAX, last, output, grad_output));
    const Matrix grad_joined = dense.linear_grad_input(grad_second_sums, encoder.second);
    // The gradient of a voxel's maximum is the sum of the gradients of its points.
    const Scatter grad_maxima =
        scatter(operators, MLUOP_REDUCE_DSUM, dense.columns_of(grad_joined, hidden_channels, hidden_channels),
                encoder.voxels);
    Matrix grad_hidden = dense.columns_of(grad_joined, 0, hidden_channels);
    dense.add(grad_hidden, scatter_grad(operators, MLUOP_REDUCE_DMAX, hidden, maxima, grad_maxima.features));
    const Matrix grad_first_sums = dense.squareplus_grad(first_sums, grad_hidden);
    const Matrix grad_inputs = dense.linear_grad_input(grad_first_sums, encoder.first);
    // The gradients of the offsets, with a column of zeros for each other channel.
    const Matrix grad_offsets = dense.concatenate(dense.columns_of(grad_inputs, channels, kOffsets),
                                                  zeros(grad_inputs.rows, channels - kOffsets));
    Matrix grad_means = scatter(operators, MLUOP_REDUCE_DSUM, grad_offsets, encoder.voxels).features;
    for (float& value : grad_means.values) value = -value;
    Matrix grad_points = dense.columns_of(grad_inputs, 0, channels);
    dense.add(grad_points, grad_offsets);
    dense.add(grad_points, scatter_grad(operators, MLUOP_REDUCE_DMEAN, points, means, grad_means));
    result.gradients.emplace_back("points", std::move(grad_points));
    result.gradients.emplace_back("first", dense.linear_grad_weights(inputs, grad_first_sums));
    result.gradients.emplace_back("second", dense.linear_grad_weights(joined, grad_second_sums));
  }
  for (Values<int32_t>* const numbers : {&output.voxels, &output.voxel_of, &output.counts}) {
    result.indices.push_back(std::move(*numbers));
  }
  result.output = std::move(output.features);
  return result;
}

}  // namespace mluop::networks::mvx_net

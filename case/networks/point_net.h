// A feature propagation level of PointNet++ before its shared layers: three nearest neighbors, weights by inverse
// distance, interpolation and concatenation, forward and backward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

#include "case/networks/dense_layers.h"
#include "case/networks/operators.h"
#include "case/networks/tensor.h"

namespace mluop::networks::point_net {

// The features of `known` points are interpolated at the `unknown` points, which have other features already.
struct Sizes {
  int64_t batches, unknown, known, channels, unknown_channels;

  int64_t all_channels() const { return channels + unknown_channels; }
};

struct Level {
  Sizes sizes;
  Matrix unknown, known;                    // [batches * points, 3]
  Matrix unknown_features, known_features;  // [batches * channels, points]
  Matrix grad_features;                     // [batches * all_channels, unknown]
};

inline Level random_level(const Sizes& sizes, std::mt19937& random) {
  const auto& [B, N, M, C, C2] = sizes;
  return {sizes,
          random_matrix(B * N, 3, 1, random),
          random_matrix(B * M, 3, 1, random),
          random_matrix(B * C2, N, 1, random),
          random_matrix(B * C, M, 1, random),
          random_matrix(B * sizes.all_channels(), N, 1, random)};
}

// Inverse distances, normalized.
template <class Dense>
Matrix interpolation_weights(const Matrix& distances2, const Dense& dense) {
  Matrix weights(distances2.rows, 3);
  dense.for_rows(weights.rows, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      float sum = 0;
      for (int64_t slot = 0; slot < 3; ++slot) {
        weights[n][slot] = 1 / (std::sqrt(distances2[n][slot]) + 1e-8F);
        sum += weights[n][slot];
      }
      for (int64_t slot = 0; slot < 3; ++slot) weights[n][slot] /= sum;
    }
  });
  return weights;
}

// Copies rows [first, first + count) of each batch of `from` to rows from `to_first` on of each batch of `to`.
template <class Dense>
void copy_channels(const Sizes& sizes, const Matrix& from, int64_t first, Matrix& to, int64_t to_first,
                   int64_t count, const Dense& dense) {
  const int64_t from_rows = from.rows / sizes.batches, to_rows = to.rows / sizes.batches;
  dense.for_rows(sizes.batches * count, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t batch = row / count, channel = row % count;
      std::copy_n(from[batch * from_rows + first + channel], from.columns,
                  to[batch * to_rows + to_first + channel]);
    }
  });
}

// The forward pass, and the backward pass if the network `trains`.
template <class Dense = DenseLayers<>>
Result compute(const Level& level, const Operators& operators, bool trains = true, const Dense& dense = {}) {
  const Sizes& sizes = level.sizes;
  const auto& [B, N, M, C, C2] = sizes;
  Result result;
  auto& indices = result.indices.emplace_back(static_cast<size_t>(B * N * 3));
  Matrix distances2(B * N, 3), interpolated(B * C, N);
  operators.call("three_nn_forward", {tensor(level.unknown, {B, N, 3}), tensor(level.known, {B, M, 3}),
                                      tensor(distances2, {B, N, 3}), tensor(indices.data(), {B, N, 3})});
  const Matrix weights = interpolation_weights(distances2, dense);
  operators.call("three_interpolate_forward",
                 {tensor(level.known_features, {B, C, M}), tensor(indices.data(), {B, N, 3}),
                  tensor(weights, {B, N, 3}), tensor(interpolated, {B, C, N})});
  result.output = Matrix(B * sizes.all_channels(), N);
  copy_channels(sizes, interpolated, 0, result.output, 0, C, dense);
  copy_channels(sizes, level.unknown_features, 0, result.output, C, C2, dense);
  if (trains) {
    Matrix grad_interpolated(B * C, N), grad_unknown(B * C2, N), grad_known(B * C, M);
    copy_channels(sizes, level.grad_features, 0, grad_interpolated, 0, C, dense);
    copy_channels(sizes, level.grad_features, C, grad_unknown, 0, C2, dense);
    operators.call("three_interpolate_backward",
                   {tensor(grad_interpolated, {B, C, N}), tensor(indices.data(), {B, N, 3}),
                    tensor(weights, {B, N, 3}), tensor(grad_known, {B, C, M})});
    result.gradients.emplace_back("known_features", std::move(grad_known));
    result.gradients.emplace_back("unknown_features", std::move(grad_unknown));
  }
  return result;
}

}  // namespace mluop::networks::point_net

// A feature propagation level of PointNet++ before its shared layers: three nearest neighbors, weights by inverse
// distance, interpolation and concatenation, forward and backward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "networks/dense_layers.h"
#include "networks/tensor.h"

namespace mluop::test::point_net {

// The features of `known` points are interpolated at the `unknown` points, which have features of their own.
struct Sizes {
  int64_t batches, unknown, known, channels, unknown_channels;

  int64_t all_channels() const { return channels + unknown_channels; }
};

struct Level {
  Sizes sizes;
  Matrix<float> unknown, known;                    // [batches * points, 3]
  Matrix<float> unknown_features, known_features;  // [batches * channels, points]
};

inline Level random_level(const Sizes& sizes, std::mt19937& random) {
  const auto& [B, N, M, C, C2] = sizes;
  return {sizes, random_matrix(B * N, 3, 1, random), random_matrix(B * M, 3, 1, random),
          random_matrix(B * C2, N, 1, random), random_matrix(B * C, M, 1, random)};
}

template <class F>
struct Neighbors {
  Values<int32_t> indices;  // [batches * unknown, 3]
  Matrix<F> distances2;     // [batches * unknown, 3]
};

template <class F>
struct Propagation {
  Neighbors<F> neighbors;
  Matrix<F> weights;   // [batches * unknown, 3]
  Matrix<F> features;  // [batches * all_channels, unknown]
};

template <class F>
struct Gradients {
  Matrix<F> known_features, unknown_features;
};

// Inverse distances, normalized.
template <class F, class Dense>
Matrix<F> interpolation_weights(const Matrix<F>& distances2, const Dense& dense) {
  Matrix<F> weights(distances2.rows, 3);
  dense.for_rows(weights.rows, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      F sum = 0;
      for (int64_t slot = 0; slot < 3; ++slot) {
        weights[n][slot] = 1 / (std::sqrt(distances2[n][slot]) + F(1e-8));
        sum += weights[n][slot];
      }
      for (int64_t slot = 0; slot < 3; ++slot) weights[n][slot] /= sum;
    }
  });
  return weights;
}

// Rows [first, first + count) of each batch of `from` to rows from `to_first` of each batch of `to`.
template <class F, class Dense>
void copy_channels(const Sizes& sizes, const Matrix<F>& from, int64_t first, Matrix<F>& to, int64_t to_first,
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

template <class Operators, class Dense = DenseLayers<typename Operators::Float>>
auto forward(const Level& level, const Operators& operators, const Dense& dense = {}) {
  using F = typename Operators::Float;
  const Sizes& sizes = level.sizes;
  Propagation<F> result{operators.nearest(level), {}, {}};
  result.weights = interpolation_weights(result.neighbors.distances2, dense);
  const auto interpolated =
      operators.interpolate(sizes, as<F>(level.known_features), result.neighbors, result.weights);
  result.features = Matrix<F>(sizes.batches * sizes.all_channels(), sizes.unknown);
  copy_channels(sizes, interpolated, 0, result.features, 0, sizes.channels, dense);
  copy_channels(sizes, as<F>(level.unknown_features), 0, result.features, sizes.channels, sizes.unknown_channels,
                dense);
  return result;
}

// grad: of the features.
template <class F, class Operators, class Dense = DenseLayers<F>>
Gradients<F> backward(const Level& level, const Propagation<F>& propagation, const Matrix<F>& grad,
                      const Operators& operators, const Dense& dense = {}) {
  const Sizes& sizes = level.sizes;
  Matrix<F> grad_interpolated(sizes.batches * sizes.channels, sizes.unknown);
  Matrix<F> grad_unknown(sizes.batches * sizes.unknown_channels, sizes.unknown);
  copy_channels(sizes, grad, 0, grad_interpolated, 0, sizes.channels, dense);
  copy_channels(sizes, grad, sizes.channels, grad_unknown, 0, sizes.unknown_channels, dense);
  return {operators.interpolate_grad(sizes, grad_interpolated, propagation.neighbors, propagation.weights),
          grad_unknown};
}

}  // namespace mluop::test::point_net

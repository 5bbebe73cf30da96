// The operators of a feature propagation level in double.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "networks/point_net.h"

namespace mluop::test::point_net {

struct Reference {
  using Float = double;

  Neighbors<double> nearest(const Level& level) const {
    const auto& [B, N, M, C, C2] = level.sizes;
    Neighbors<double> neighbors{Values<int32_t>(static_cast<size_t>(B * N * 3)), {B * N, 3}};
    for (int64_t n = 0; n < B * N; ++n) {
      using Candidate = std::pair<double, int32_t>;
      std::array<Candidate, 4> best;  // ascending; the last is the new one
      best.fill({std::numeric_limits<double>::infinity(), 0});
      for (int64_t m = 0; m < M; ++m) {
        double sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
          const double distance = double{level.unknown[n][axis]} - double{level.known[n / N * M + m][axis]};
          sum += distance * distance;
        }
        best[3] = {sum, static_cast<int32_t>(m)};
        for (size_t slot = 3; slot > 0 && best[slot] < best[slot - 1]; --slot)
          std::swap(best[slot], best[slot - 1]);
      }
      for (size_t slot = 0; slot < 3; ++slot) {
        neighbors.distances2[n][slot] = best[slot].first;
        neighbors.indices[static_cast<size_t>(n) * 3 + slot] = best[slot].second;
      }
    }
    return neighbors;
  }

  Matrix<double> interpolate(const Sizes& sizes, const Matrix<double>& features,
                             const Neighbors<double>& neighbors, const Matrix<double>& weights) const {
    auto output = zeros<double>(sizes.batches * sizes.channels, sizes.unknown);
    for_each_pair(sizes, neighbors, weights, [&](int64_t row, int64_t n, int64_t m, double weight) {
      output[row][n] += weight * features[row][m];
    });
    return output;
  }

  Matrix<double> interpolate_grad(const Sizes& sizes, const Matrix<double>& grad,
                                  const Neighbors<double>& neighbors, const Matrix<double>& weights) const {
    auto features = zeros<double>(sizes.batches * sizes.channels, sizes.known);
    for_each_pair(sizes, neighbors, weights, [&](int64_t row, int64_t n, int64_t m, double weight) {
      features[row][m] += weight * grad[row][n];
    });
    return features;
  }

  template <class Visit>
  static void for_each_pair(const Sizes& sizes, const Neighbors<double>& neighbors, const Matrix<double>& weights,
                            const Visit& visit) {
    for (int64_t row = 0; row < sizes.batches * sizes.channels; ++row) {
      for (int64_t n = 0; n < sizes.unknown; ++n) {
        const int64_t point = row / sizes.channels * sizes.unknown + n;
        for (int64_t slot = 0; slot < 3; ++slot) {
          visit(row, n, neighbors.indices[static_cast<size_t>(point * 3 + slot)], weights[point][slot]);
        }
      }
    }
  }
};

}  // namespace mluop::test::point_net

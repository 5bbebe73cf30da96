// A feature propagation level of PointNet++ (three nearest neighbors, interpolation, shared layer), forward and
// backward.
#include <gtest/gtest.h>

#include <array>

#include "networks/layers.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

// The features of `known` points are interpolated at the `unknown` points, which have features of their own.
struct Level {
  Matrix<float> unknown, known;                    // [points, 3]
  Matrix<float> unknown_features, known_features;  // [points, channels]
  Matrix<float> weights, grad_output;
};

constexpr int64_t kUnknown = 256, kKnown = 64, kSkipChannels = 19, kChannels = 64, kOutputs = 32;

Level random_level(std::mt19937& random) {
  return {random_matrix(kUnknown, 3, 1, random),
          random_matrix(kKnown, 3, 1, random),
          random_matrix(kUnknown, kSkipChannels, 1, random),
          random_matrix(kKnown, kChannels, 1, random),
          random_matrix(kChannels + kSkipChannels, kOutputs, 0.2F, random),
          random_matrix(kUnknown, kOutputs, 1, random)};
}

struct Neighbors {
  std::vector<int32_t> indices;    // [kUnknown, 3]
  std::vector<double> distances2;  // [kUnknown, 3]
};

struct Library {
  using Float = float;

  Neighbors nearest(const Level& level) const {
    const Descriptor unknown(MLUOP_DTYPE_FLOAT, {1, kUnknown, 3}), known(MLUOP_DTYPE_FLOAT, {1, kKnown, 3});
    const Descriptor dist2(MLUOP_DTYPE_FLOAT, {1, kUnknown, 3}), idx(MLUOP_DTYPE_INT32, {1, kUnknown, 3});
    size_t bytes = 0;
    require(mluOpGetThreeNNForwardWorkspaceSize(handle, known, &bytes));
    std::vector<char> workspace(bytes);
    Neighbors neighbors{std::vector<int32_t>(kUnknown * 3), {}};
    std::vector<float> distances2(kUnknown * 3);
    require(mluOpThreeNNForward(handle, unknown, level.unknown.data(), known, level.known.data(), workspace.data(),
                                bytes, dist2, distances2.data(), idx, neighbors.indices.data()));
    neighbors.distances2.assign(distances2.begin(), distances2.end());
    return neighbors;
  }

  Matrix<float> interpolate(const Matrix<float>& features, const Neighbors& neighbors,
                            const Matrix<float>& weights) const {
    Matrix<float> output(kChannels, kUnknown);
    require(mluOpThreeInterpolateForward(handle, channels_by_known, features.data(), pairs_indices,
                                         neighbors.indices.data(), pairs_weights, weights.data(),
                                         channels_by_unknown, output.data()));
    return output;
  }

  Matrix<float> interpolate_grad(const Matrix<float>& grad, const Neighbors& neighbors,
                                 const Matrix<float>& weights) const {
    Matrix<float> features(kChannels, kKnown);
    require(mluOpThreeInterpolateBackward(handle, channels_by_unknown, grad.data(), pairs_indices,
                                          neighbors.indices.data(), pairs_weights, weights.data(),
                                          channels_by_known, features.data()));
    return features;
  }

  const Handle& handle;
  Descriptor channels_by_known{MLUOP_DTYPE_FLOAT, {1, kChannels, kKnown}};
  Descriptor channels_by_unknown{MLUOP_DTYPE_FLOAT, {1, kChannels, kUnknown}};
  Descriptor pairs_indices{MLUOP_DTYPE_INT32, {1, kUnknown, 3}};
  Descriptor pairs_weights{MLUOP_DTYPE_FLOAT, {1, kUnknown, 3}};
};

struct Reference {
  using Float = double;

  Neighbors nearest(const Level& level) const {
    Neighbors neighbors;
    for (int64_t n = 0; n < kUnknown; ++n) {
      std::array<std::pair<double, int32_t>, kKnown> candidates;
      for (int64_t m = 0; m < kKnown; ++m) {
        double sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
          sum += std::pow(double{level.unknown[n][axis]} - double{level.known[m][axis]}, 2);
        }
        candidates[static_cast<size_t>(m)] = {sum, static_cast<int32_t>(m)};
      }
      std::partial_sort(candidates.begin(), candidates.begin() + 3, candidates.end());
      for (size_t slot = 0; slot < 3; ++slot) {
        neighbors.distances2.push_back(candidates[slot].first);
        neighbors.indices.push_back(candidates[slot].second);
      }
    }
    return neighbors;
  }

  Matrix<double> interpolate(const Matrix<double>& features, const Neighbors& neighbors,
                             const Matrix<double>& weights) const {
    Matrix<double> output(kChannels, kUnknown);
    for_each_pair(neighbors, [&](int64_t c, int64_t n, int64_t m, int64_t slot) {
      output[c][n] += weights[n][slot] * features[c][m];
    });
    return output;
  }

  Matrix<double> interpolate_grad(const Matrix<double>& grad, const Neighbors& neighbors,
                                  const Matrix<double>& weights) const {
    Matrix<double> features(kChannels, kKnown);
    for_each_pair(neighbors, [&](int64_t c, int64_t n, int64_t m, int64_t slot) {
      features[c][m] += weights[n][slot] * grad[c][n];
    });
    return features;
  }

  template <class Visit>
  static void for_each_pair(const Neighbors& neighbors, const Visit& visit) {
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t n = 0; n < kUnknown; ++n) {
        for (int64_t slot = 0; slot < 3; ++slot) {
          visit(c, n, neighbors.indices[static_cast<size_t>(n * 3 + slot)], slot);
        }
      }
    }
  }
};

template <class F>
struct Result {
  std::vector<int32_t> indices;
  Matrix<F> output, grad_known_features, grad_unknown_features, grad_weights;
};

// Inverse distances, normalized.
template <class F>
Matrix<F> interpolation_weights(const Neighbors& neighbors) {
  Matrix<F> weights(kUnknown, 3);
  for (int64_t n = 0; n < kUnknown; ++n) {
    F sum = 0;
    for (int64_t slot = 0; slot < 3; ++slot) {
      const auto distance = std::sqrt(static_cast<F>(neighbors.distances2[static_cast<size_t>(n * 3 + slot)]));
      weights[n][slot] = 1 / (distance + F(1e-8));
      sum += weights[n][slot];
    }
    for (int64_t slot = 0; slot < 3; ++slot) weights[n][slot] /= sum;
  }
  return weights;
}

template <class Operators, class F = typename Operators::Float>
Result<F> propagate(const Level& level, const Operators& operators) {
  const Neighbors neighbors = operators.nearest(level);
  const Matrix<F> weights = interpolation_weights<F>(neighbors);
  const Matrix<F> interpolated =
      transpose(operators.interpolate(transpose(Matrix<F>(level.known_features)), neighbors, weights));
  const Matrix<F> features = concatenate(interpolated, Matrix<F>(level.unknown_features));
  const Matrix<F> layer(level.weights);
  const Matrix<F> sums = linear(features, layer);

  const Matrix<F> grad_sums = softplus_grad(sums, Matrix<F>(level.grad_output));
  const Matrix<F> grad_features = linear_grad_input(grad_sums, layer);
  Matrix<F> grad_interpolated(kUnknown, kChannels), grad_skip(kUnknown, kSkipChannels);
  for (int64_t n = 0; n < kUnknown; ++n) {
    std::copy_n(grad_features[n], kChannels, grad_interpolated[n]);
    std::copy_n(grad_features[n] + kChannels, kSkipChannels, grad_skip[n]);
  }
  return {neighbors.indices, softplus(sums),
          transpose(operators.interpolate_grad(transpose(grad_interpolated), neighbors, weights)), grad_skip,
          linear_grad_weights(features, grad_sums)};
}

TEST(NetworksPointNet, FeaturePropagation) {
  auto random = seeded_random();
  const Level level = random_level(random);
  const auto expected = propagate(level, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const auto found = propagate(level, Library{handle});
    EXPECT_EQ(found.indices, expected.indices);
    expect_near(found.output, expected.output, 1e-5);
    expect_near(found.grad_known_features, expected.grad_known_features, 1e-5);
    expect_near(found.grad_unknown_features, expected.grad_unknown_features, 1e-5);
    expect_near(found.grad_weights, expected.grad_weights, 1e-5);
  }
}

// The reference itself: central differences of sum(output * grad_output).
TEST(NetworksPointNet, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Level level = random_level(random);
  const auto result = propagate(level, Reference{});
  for (const size_t i : {0, 777, 1500}) {
    expect_gradient([&] { return inner_product(propagate(level, Reference{}).output, level.grad_output); },
                    {{&level.known_features.values[i], result.grad_known_features.values[i]},
                     {&level.unknown_features.values[i], result.grad_unknown_features.values[i]},
                     {&level.weights.values[i], result.grad_weights.values[i]}});
  }
}

}  // namespace
}  // namespace mluop::test

// A feature propagation level of PointNet++ with a shared layer, forward and backward.
#include "networks/point_net.h"

#include <gtest/gtest.h>

#include "networks/expectations.h"
#include "networks/point_net_library.h"
#include "networks/point_net_reference.h"
#include "support/environment.h"

namespace mluop::test::point_net {
namespace {

constexpr int64_t kOutputs = 32;

// The shared layer multiplies the features of all points of a batch.
struct Network {
  Level level;
  Matrix<float> weights, grad_output;  // [kOutputs, all_channels], [kOutputs, unknown]
};

Network random_network(std::mt19937& random) {
  const Sizes sizes = {1, 256, 64, 64, 19};
  return {random_level(sizes, random), random_matrix(kOutputs, sizes.all_channels(), 0.2F, random),
          random_matrix(kOutputs, sizes.unknown, 1, random)};
}

template <class F>
struct Result {
  Values<int32_t> indices;
  Matrix<F> output;
  Gradients<F> gradients;
  Matrix<F> grad_weights;
};

template <class Operators, class F = typename Operators::Float>
Result<F> propagate(const Network& network, const Operators& operators) {
  using Dense = DenseLayers<F>;
  const auto propagation = forward(network.level, operators);
  const Matrix<F> weights(network.weights), sums = Dense::linear(weights, propagation.features);
  const Matrix<F> grad_sums = Dense::squareplus_grad(sums, Matrix<F>(network.grad_output));
  // The layer is a product from the left: its weights have the gradient of an input, the features that of weights.
  return {propagation.neighbors.indices, Dense::squareplus(sums),
          backward(network.level, propagation, Dense::linear_grad_weights(weights, grad_sums), operators),
          Dense::linear_grad_input(grad_sums, propagation.features)};
}

TEST(NetworksPointNet, FeaturePropagation) {
  auto random = seeded_random();
  const Network network = random_network(random);
  const auto expected = propagate(network, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const auto found = propagate(network, Library{handle});
    EXPECT_EQ(found.indices, expected.indices);
    expect_near(found.output, expected.output, 1e-5);
    expect_near(found.gradients.known_features, expected.gradients.known_features, 1e-5);
    expect_near(found.gradients.unknown_features, expected.gradients.unknown_features, 1e-5);
    expect_near(found.grad_weights, expected.grad_weights, 1e-5);
  }
}

// Levels without features of their own, and several batches.
TEST(NetworksPointNet, Batches) {
  auto random = seeded_random();
  const Level level = random_level({3, 100, 40, 16, 0}, random);
  const auto grad = random_matrix(3 * 16, 100, 1, random);
  const Handle handle;
  const Library library{handle};
  const auto found = forward(level, library);
  const auto expected = forward(level, Reference{});
  EXPECT_EQ(found.neighbors.indices, expected.neighbors.indices);
  expect_near(found.features, expected.features, 1e-5);
  expect_near(backward(level, found, grad, library).known_features,
              backward(level, expected, Matrix<double>(grad), Reference{}).known_features, 1e-5);
}

// The reference itself: central differences of sum(output * grad_output).
TEST(NetworksPointNet, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Network network = random_network(random);
  const auto result = propagate(network, Reference{});
  for (const size_t i : {0, 777, 1500}) {
    expect_gradient([&] { return inner_product(propagate(network, Reference{}).output, network.grad_output); },
                    {{&network.level.known_features.values[i], result.gradients.known_features.values[i]},
                     {&network.level.unknown_features.values[i], result.gradients.unknown_features.values[i]},
                     {&network.weights.values[i], result.grad_weights.values[i]}});
  }
}

}  // namespace
}  // namespace mluop::test::point_net

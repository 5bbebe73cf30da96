// The dynamic voxel feature encoder of MVX-Net, forward and backward.
#include "networks/mvx_net.h"

#include <gtest/gtest.h>

#include <cmath>

#include "networks/expectations.h"
#include "networks/mvx_net_library.h"
#include "networks/mvx_net_reference.h"
#include "support/environment.h"

namespace mluop::test::mvx_net {
namespace {

constexpr int64_t kPoints = 1500, kPointChannels = 4, kHidden = 16, kOutputs = 32;

Encoder random_encoder(std::mt19937& random) {
  Encoder encoder{random_matrix(kPoints, kPointChannels, 1, random),
                  {},
                  random_matrix(kPointChannels + kOffsets, kHidden, 0.7F, random),
                  random_matrix(2 * kHidden, kOutputs, 0.3F, random),
                  random_matrix(kPoints, kOutputs, 1, random)};
  for (int64_t n = 0; n < kPoints; ++n) {
    const float* point = encoder.points[n];
    const auto cell = [&](int axis, float cells) {
      return static_cast<int32_t>(std::floor((point[axis] + 0.9F) * cells));
    };
    encoder.voxels.push_back({cell(2, 2), cell(1, 8), cell(0, 8)});
  }
  return encoder;
}

TEST(NetworksMvxNet, DynamicVoxelEncoder) {
  auto random = seeded_random();
  const Encoder encoder = random_encoder(random);
  const auto expected = forward(encoder, Reference{});
  const auto expected_gradients = backward(encoder, expected, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const Library library{handle};
    const auto found = forward(encoder, library);
    ASSERT_EQ(found.output.voxels, expected.output.voxels);
    EXPECT_EQ(found.output.voxel_of, expected.output.voxel_of);
    EXPECT_EQ(found.output.counts, expected.output.counts);
    expect_near(found.output.features, expected.output.features, 1e-5);
    const auto gradients = backward(encoder, found, library);
    expect_near(gradients.points, expected_gradients.points, 1e-5);
    expect_near(gradients.first, expected_gradients.first, 1e-5);
    expect_near(gradients.second, expected_gradients.second, 1e-5);
  }
}

// The reference itself: central differences of sum(output * grad_output).
TEST(NetworksMvxNet, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Encoder encoder = random_encoder(random);
  const auto gradients = backward(encoder, forward(encoder, Reference{}), Reference{});
  expect_gradient(
      [&] { return inner_product(forward(encoder, Reference{}).output.features, encoder.grad_output); },
      {{&encoder.points.values[5], gradients.points.values[5]},
       {&encoder.points.values[4000], gradients.points.values[4000]},
       {&encoder.first.values[20], gradients.first.values[20]},
       {&encoder.second.values[500], gradients.second.values[500]}});
}

}  // namespace
}  // namespace mluop::test::mvx_net

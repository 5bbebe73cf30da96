// The dynamic voxel feature encoder of MVX-Net, forward and backward.
#include "case/networks/mvx_net.h"

#include <gtest/gtest.h>

#include <cmath>

#include "networks/expectations.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test::mvx_net {
namespace {

using namespace networks::mvx_net;

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
    encoder.voxels.insert(encoder.voxels.end(), {cell(2, 2), cell(1, 8), cell(0, 8)});
  }
  return encoder;
}

TEST(NetworksMvxNet, DynamicVoxelEncoder) {
  auto random = seeded_random();
  expect_results_of_oracles(random_encoder(random));
}

// With a larger step, maxima move to other points.
TEST(NetworksMvxNet, GradientsAreThoseOfFiniteDifferences) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  Encoder encoder = random_encoder(random);
  expect_finite_differences(encoder, {&encoder.points, &encoder.first, &encoder.second}, encoder.grad_output,
                            0x1p-10F);
}

}  // namespace
}  // namespace mluop::test::mvx_net

// The sparse middle encoder of CenterPoint on LiDAR scans, forward and backward.
#include "networks/center_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "networks/expectations.h"
#include "support/environment.h"
#include "support/lidar_scan.h"
#include "support/site_set.h"

namespace mluop::test::center_point {
namespace {

const std::vector<Layer> kLayers = {
    {4, 16, submanifold({3, 3, 3})},        {16, 16, submanifold({3, 3, 3})},
    {16, 16, submanifold({3, 3, 3}), true}, {16, 32, {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}}},
    {32, 32, submanifold({3, 3, 3})},       {32, 64, {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}}},
    {64, 64, submanifold({3, 3, 3})},       {64, 128, {{3, 1, 1}, {2, 1, 1}}}};

// Voxels of 0.4 x 0.8 x 0.8 m.
Encoder encoder_of_scans(std::mt19937& random, int columns = 100) {
  const Site grid = {2, 15, 96, 96};
  SiteSet set(grid);
  for (int b = 0; b < grid[0]; ++b) {
    for (const Position& point : lidar_turn({16, columns, -15, 8, 1.8}, 40.0 * b, 0)) {
      const Site site = {b, static_cast<int32_t>(std::floor(point[0] / 0.4)) + 5,
                         static_cast<int32_t>(std::floor(point[1] / 0.8)) + grid[2] / 2,
                         static_cast<int32_t>(std::floor(point[2] / 0.8)) + grid[3] / 2};
      if (Window{{}, grid}.contains(site)) set.insert(site);
    }
  }
  set.number();
  return random_encoder(grid, kLayers, set.sites(), random);
}

TEST(NetworksCenterPoint, SparseEncoder) {
  auto random = seeded_random();
  Encoder encoder = encoder_of_scans(random);
  EXPECT_GT(encoder.sites.size(), 1000U);
  encoder.loss = {{0, 0, 4, 0}, {kNoLimit, kNoLimit, kNoLimit, 20}};
  expect_results_of_oracles(encoder);
}

TEST(NetworksCenterPoint, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Encoder encoder = encoder_of_scans(random, 15);
  std::vector<Matrix*> inputs = {&encoder.features};
  for (Matrix& filters : encoder.filters) inputs.push_back(&filters);
  Matrix ones(encoder.features.rows, kLayers.back().Co);
  std::fill(ones.values.begin(), ones.values.end(), 1.0F);
  expect_finite_differences(encoder, inputs, ones);
}

}  // namespace
}  // namespace mluop::test::center_point

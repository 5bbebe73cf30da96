// The sparse middle encoder of CenterPoint on LiDAR scans, forward and backward.
#include "case/networks/center_point.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "networks/expectations.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/scenes.h"

namespace mluop::test::center_point {
namespace {

using namespace networks::center_point;

const std::vector<Layer> kLayers = {
    {4, 16, submanifold({3, 3, 3})},        {16, 16, submanifold({3, 3, 3})},
    {16, 16, submanifold({3, 3, 3}), true}, {16, 32, {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}}},
    {32, 32, submanifold({3, 3, 3})},       {32, 64, {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}}},
    {64, 64, submanifold({3, 3, 3})},       {64, 128, {{3, 1, 1}, {2, 1, 1}}}};

Encoder random_sparse_encoder(int32_t extent, std::mt19937& random) {
  const Site grid = {2, 15, extent, extent};
  SiteSet set(grid);
  for (int32_t i = 0; i < 4 * extent * extent; ++i) {
    Site site;
    for (size_t axis = 0; axis < site.size(); ++axis) {
      site[axis] = std::uniform_int_distribution<int32_t>(0, grid[axis] - 1)(random);
    }
    set.insert(site);
  }
  set.number();
  return random_encoder(grid, kLayers, set.sites(), random);
}

TEST(NetworksCenterPoint, SparseEncoder) {
  auto random = seeded_random();
  Encoder encoder = random_sparse_encoder(24, random);
  encoder.loss = {{0, 0, 2, 0}, {kNoLimit, kNoLimit, kNoLimit, 4}};
  expect_results_of_oracles(encoder);
}

TEST(NetworksCenterPoint, GradientsAreThoseOfFiniteDifferences) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  Encoder encoder = random_sparse_encoder(8, random);
  std::vector<Matrix*> inputs = {&encoder.features};
  for (Matrix& filters : encoder.filters) inputs.push_back(&filters);
  Matrix ones(encoder.features.rows, kLayers.back().Co);
  std::fill(ones.values.begin(), ones.values.end(), 1.0F);
  expect_finite_differences(encoder, inputs, ones);
}

}  // namespace
}  // namespace mluop::test::center_point

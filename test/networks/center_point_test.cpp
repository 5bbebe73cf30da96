// The sparse middle encoder of CenterPoint on LiDAR scans, forward and backward.
#include "networks/center_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "networks/center_point_library.h"
#include "networks/center_point_reference.h"
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

// Forward and backward.
template <class F>
struct Result {
  std::vector<Site> sites;
  Matrix<F> output;
  Gradients<F> gradients;
};

template <class Operators>
Result<typename Operators::Float> encode(const Encoder& encoder, const Operators& operators) {
  const auto activations = forward(encoder, operators);
  return {activations.sites, activations.output(), backward(encoder, activations, operators)};
}

TEST(NetworksCenterPoint, SparseEncoder) {
  auto random = seeded_random();
  Encoder encoder = encoder_of_scans(random);
  EXPECT_GT(encoder.sites.size(), 1000U);
  encoder.loss = {{0, 0, 4, 0}, {kNoLimit, kNoLimit, kNoLimit, 20}};
  const auto expected = encode(encoder, Reference{});
  for (const mluOpOmpAlgorithm_t algorithm : {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE}) {
    const Handle handle(algorithm);
    const auto found = encode(encoder, Library{handle});
    ASSERT_EQ(found.sites, expected.sites);
    expect_near(found.output, expected.output, 1e-5);
    expect_near(found.gradients.features, expected.gradients.features, 1e-5);
    for (size_t i = 0; i < kLayers.size(); ++i) {
      SCOPED_TRACE(i);
      expect_near(found.gradients.filters[i], expected.gradients.filters[i], 1e-5);
    }
  }
}

// The reference itself: central differences of the sum of the output, from which that of the first output is
// subtracted element by element, as the sum itself would be rounded too much.
TEST(NetworksCenterPoint, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  Encoder encoder = encoder_of_scans(random, 30);
  const auto result = encode(encoder, Reference{});
  const auto& gradients = result.gradients;
  const auto loss = [&] {
    const auto output = forward(encoder, Reference{}).output();
    return std::transform_reduce(output.values.begin(), output.values.end(), result.output.values.begin(), 0.0,
                                 std::plus<>(), std::minus<>());
  };
  expect_gradient(loss, {{&encoder.features.values[100], gradients.features.values[100]},
                         {&encoder.filters[0].values[900], gradients.filters[0].values[900]},
                         {&encoder.filters[1].values[3000], gradients.filters[1].values[3000]},
                         {&encoder.filters[4].values[14000], gradients.filters[4].values[14000]},
                         {&encoder.filters[7].values[5000], gradients.filters[7].values[5000]}});
}

// The same bits with any number of threads, forward and backward.
TEST(NetworksCenterPoint, ThreadCounts) {
  auto random = seeded_random();
  const Encoder encoder = encoder_of_scans(random);
  const auto run = [&](int count) {
    const ScopedThreads threads(count);
    const Handle handle;
    return encode(encoder, Library{handle});
  };
  const auto expected = run(1);
  for (const int count : {2, 5, 16}) {
    SCOPED_TRACE(count);
    const auto found = run(count);
    EXPECT_EQ(found.output.values, expected.output.values);
    EXPECT_EQ(found.gradients.features.values, expected.gradients.features.values);
    for (size_t i = 0; i < kLayers.size(); ++i) {
      EXPECT_EQ(found.gradients.filters[i].values, expected.gradients.filters[i].values);
    }
  }
}

}  // namespace
}  // namespace mluop::test::center_point

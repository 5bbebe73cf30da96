// The generators of sparse tensors: index pairs against dense convolution, and the scans of CenterPoint.
#include "support/indice_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "reference/indice_convolution_forward.h"
#include "support/center_point.h"
#include "support/dense_convolution.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr Site kGrid = {2, 5, 8, 7};

const SparseConvolution kConvolutions[] = {
    {{3, 3, 3}},  // no padding: sites at the border have fewer pairs
    {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},  // from CenterPoint
    {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}},
    {{3, 1, 1}, {2, 1, 1}},
    {{2, 2, 2}, {2, 2, 2}},                        // no overlap
    {{1, 1, 1}, {3, 3, 3}},                        // most sites have no pair
    {{3, 2, 3}, {1, 3, 2}, {2, 1, 0}, {2, 1, 3}},  // different values along each axis
    {{5, 1, 3}, {1, 1, 1}, {4, 0, 2}, {2, 1, 2}},  // an output grid larger than the input grid
    {{3, 9, 3}, {1, 1, 1}, {0, 0, 0}},             // a kernel larger than the grid: no output
    submanifold({3, 3, 3}),
    submanifold({1, 1, 1}),
    submanifold({3, 1, 5}, {2, 1, 1}),
};

std::vector<Site> random_sites(const Site& grid, uint32_t one_in, std::mt19937& random) {
  std::vector<Site> sites;
  Site site;
  for (site[0] = 0; site[0] < grid[0]; ++site[0]) {
    for (site[1] = 0; site[1] < grid[1]; ++site[1]) {
      for (site[2] = 0; site[2] < grid[2]; ++site[2]) {
        for (site[3] = 0; site[3] < grid[3]; ++site[3]) {
          if (random() % one_in == 0) sites.push_back(site);
        }
      }
    }
  }
  std::shuffle(sites.begin(), sites.end(), random);
  return sites;
}

std::vector<double> random_integers(size_t count, std::mt19937& random) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(random() % 9) - 4);
  return values;
}

// The sums over the pairs equal the dense convolution at the outputs. The dense convolution is 0 elsewhere.
void expect_dense(const SparseConvolution& convolution, uint32_t one_in, std::mt19937& random) {
  constexpr int Ci = 3, Co = 2;
  const auto sites = random_sites(kGrid, one_in, random);
  const auto features = random_integers(sites.size() * Ci, random);
  const auto filters = random_integers(static_cast<size_t>(convolution.offsets()) * Ci * Co, random);
  std::vector<double> input(reference::dense_index(kGrid, {kGrid[0], 0, 0, 0}, Ci));
  for (size_t i = 0; i < sites.size(); ++i) {
    std::copy_n(&features[i * Ci], Ci, &input[reference::dense_index(kGrid, sites[i], Ci)]);
  }
  auto expected = reference::dense_convolution(kGrid, convolution, Ci, Co, input, filters);

  const IndicePairs pairs = indice_pairs(sites, kGrid, convolution);
  const auto& [depth, height, width] = convolution.kernel;
  const reference::IndiceConvolutionForwardSizes sizes{static_cast<int64_t>(sites.size()),
                                                       static_cast<int64_t>(pairs.outputs.size()),
                                                       Ci,
                                                       Co,
                                                       depth,
                                                       height,
                                                       width};
  std::vector<double> found(pairs.outputs.size() * Co);
  const std::vector<float> float_features(features.begin(), features.end()),
      float_filters(filters.begin(), filters.end());
  reference::indice_convolution_forward(sizes, float_features.data(), reference::FilterLayout::kNdhwc,
                                        float_filters.data(), pairs.pairs.data(), pairs.num.data(), 0, Co,
                                        found.data());
  const Site outputs_on = output_grid(kGrid, convolution);
  for (size_t o = 0; o < pairs.outputs.size(); ++o) {
    for (size_t co = 0; co < Co; ++co) {
      double& dense = expected[reference::dense_index(outputs_on, pairs.outputs[o], Co) + co];
      EXPECT_EQ(found[o * Co + co], dense);
      dense = 0;
    }
  }
  if (convolution.submanifold) return;
  EXPECT_EQ(expected, std::vector<double>(expected.size(), 0.0));
}

TEST(SupportIndicePairs, EqualDenseConvolution) {
  auto random = seeded_random();
  for (const SparseConvolution& convolution : kConvolutions) {
    SCOPED_TRACE(&convolution - kConvolutions);
    // From all sites to few.
    for (const uint32_t one_in : {1, 2, 9, 200}) expect_dense(convolution, one_in, random);
  }
}

// Outputs are in order, each is named by a pair, and the indices past the last pair of a filter offset are -1.
TEST(SupportIndicePairs, AreOrderedAndComplete) {
  auto random = seeded_random();
  for (const SparseConvolution& convolution : kConvolutions) {
    const auto sites = random_sites(kGrid, 3, random);
    const IndicePairs pairs = indice_pairs(sites, kGrid, convolution);
    EXPECT_TRUE(std::is_sorted(pairs.outputs.begin(), pairs.outputs.end()));
    EXPECT_EQ(std::adjacent_find(pairs.outputs.begin(), pairs.outputs.end()), pairs.outputs.end());
    std::vector<bool> named(pairs.outputs.size());
    for (size_t k = 0; k < pairs.num.size(); ++k) {
      const int32_t* inputs = &pairs.pairs[k * 2 * sites.size()];
      const int32_t* outputs = inputs + sites.size();
      const auto count = static_cast<size_t>(pairs.num[k]);
      EXPECT_TRUE(std::is_sorted(inputs, inputs + count));
      for (size_t l = 0; l < count; ++l) named[static_cast<size_t>(outputs[l])] = true;
      for (size_t l = count; l < sites.size(); ++l) EXPECT_TRUE(inputs[l] == -1 && outputs[l] == -1);
    }
    EXPECT_EQ(std::count(named.begin(), named.end(), false), 0);
  }
}

TEST(SupportIndicePairs, OutputGrids) {
  Site grid = {4, 41, 1440, 1440};
  const Site expected[] = {{4, 21, 720, 720}, {4, 11, 360, 360}, {4, 5, 180, 180}, {4, 2, 180, 180}};
  for (size_t level = 0; level < std::size(expected); ++level) {
    grid = output_grid(grid, kCenterPointSteps[level]);
    EXPECT_EQ(grid, expected[level]);
  }
}

TEST(SupportCenterPoint, HasTheNumberOfSitesOfTheDocument) {
  for (const CenterPointInput& input : kCenterPointInputs) {
    const SparseTensor tensor = center_point_tensor(input);
    EXPECT_EQ(static_cast<int64_t>(tensor.sites.size()), input.sites);
    EXPECT_TRUE(std::is_sorted(tensor.sites.begin(), tensor.sites.end()));
    EXPECT_EQ(std::adjacent_find(tensor.sites.begin(), tensor.sites.end()), tensor.sites.end());
    for (const Site& site : tensor.sites) {
      for (size_t axis = 0; axis < site.size(); ++axis)
        ASSERT_TRUE(0 <= site[axis] && site[axis] < tensor.grid[axis]);
    }
  }
}

// Doubling scans and sites does not change the first scans.
TEST(SupportCenterPoint, GrowsByScans) {
  const SparseTensor four = center_point_tensor({3, 4000, 4}), eight = center_point_tensor({3, 8000, 8});
  EXPECT_EQ(eight.grid[0], 8);
  ASSERT_EQ(eight.sites.size(), 8000U);
  EXPECT_TRUE(std::equal(four.sites.begin(), four.sites.end(), eight.sites.begin()));
  EXPECT_EQ(eight.sites[4000][0], 4);
  EXPECT_EQ(eight.sites.back()[0], 7);
  EXPECT_THROW(center_point_tensor({3, 100000, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace mluop::test

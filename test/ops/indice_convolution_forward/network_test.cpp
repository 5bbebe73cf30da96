// mluOpIndiceConvolutionForward on the index pairs of convolutions: against dense convolution on small grids, and
// against sums in double at the sizes of the network.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "ops/indice_convolution_forward/call.h"
#include "support/center_point.h"
#include "support/compare.h"
#include "support/dense_convolution.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// The limits of the acceptance standard.
constexpr double kFloatTolerance = 1e-5;
constexpr double kHalfTolerance = 3e-3;

const SparseConvolution kConvolutions[] = {
    {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}},
    {{3, 1, 1}, {2, 1, 1}},
    {{2, 2, 2}, {2, 2, 2}},
    {{3, 2, 3}, {1, 2, 1}, {2, 1, 3}, {2, 1, 3}},
    submanifold({3, 3, 3}),
    submanifold({3, 3, 3}, {1, 2, 1}),
};

std::vector<float> dense_reference(const SparseTensor& tensor, const SparseConvolution& convolution,
                                   const std::vector<Site>& outputs,
                                   const IndiceConvolutionInputs<float>& inputs) {
  const auto Ci = static_cast<int>(inputs.sizes.Ci), Co = static_cast<int>(inputs.sizes.Co);
  std::vector<double> dense(reference::dense_index(tensor.grid, {tensor.grid[0], 0, 0, 0}, Ci));
  for (size_t i = 0; i < tensor.sites.size(); ++i) {
    std::copy_n(inputs.features.begin() + static_cast<int64_t>(i) * Ci, Ci,
                dense.begin() + static_cast<int64_t>(reference::dense_index(tensor.grid, tensor.sites[i], Ci)));
  }
  const auto result = reference::dense_convolution(tensor.grid, convolution, Ci, Co, dense,
                                                   {inputs.filters.begin(), inputs.filters.end()});
  std::vector<float> expected;
  for (const Site& site : outputs) {
    const size_t place = reference::dense_index(output_grid(tensor.grid, convolution), site, Co);
    for (size_t co = 0; co < static_cast<size_t>(Co); ++co) {
      expected.push_back(static_cast<float>(result[place + co]));
    }
  }
  return expected;
}

IndiceConvolutionSizes sizes_of(const SparseTensor& tensor, const SparseConvolution& convolution,
                                const IndicePairs& pairs, int64_t Ci, int64_t Co) {
  const auto& [depth, height, width] = convolution.kernel;
  return {static_cast<int64_t>(tensor.sites.size()),
          static_cast<int64_t>(pairs.outputs.size()),
          Ci,
          Co,
          depth,
          height,
          width};
}

TEST(OpsIndiceConvolutionForward, DenseConvolution) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const Site grid = {2, 6, 9, 8};
  for (const SparseConvolution& convolution : kConvolutions) {
    SCOPED_TRACE(&convolution - kConvolutions);
    SiteSet sites(grid);
    for (int i = 0; i < 150; ++i) {
      Site site;
      for (size_t axis = 0; axis < site.size(); ++axis) {
        site[axis] = static_cast<int32_t>(random() % static_cast<uint64_t>(grid[axis]));
      }
      sites.insert(site);
    }
    SparseTensor tensor{grid, sites.sites()};
    std::shuffle(tensor.sites.begin(), tensor.sites.end(), random);
    const IndicePairs pairs = indice_pairs(tensor.sites, grid, convolution);
    const auto sizes = sizes_of(tensor, convolution, pairs, 7, 18);
    // Integers: the sums are exact.
    auto inputs = random_indice_convolution<float>(sizes, FilterLayout::kNdhwc, random);
    inputs.indice_pairs = pairs.pairs;
    inputs.indice_num = pairs.num;
    const auto expected = dense_reference(tensor, convolution, pairs.outputs, inputs);
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      IndiceConvolutionCall<float> call(handle, inputs);
      call.sub_m = convolution.submanifold ? 1 : 0;
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(same_bits(call.output(), expected));
    }
  }
}

// The sums in double, computed on all processors.
std::vector<float> sums_of(const IndiceConvolutionInputs<float>& inputs) {
  std::vector<double> sums(static_cast<size_t>(inputs.sizes.features_out_count()));
  const int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> team;
  for (int64_t id = 0; id < threads; ++id) {
    team.emplace_back([&, id] {
      reference::indice_convolution_forward(inputs.sizes, inputs.features.data(), inputs.layout,
                                            inputs.filters.data(), inputs.indice_pairs.data(),
                                            inputs.indice_num.data(), inputs.sizes.Co * id / threads,
                                            inputs.sizes.Co * (id + 1) / threads, sums.data());
    });
  }
  team.clear();
  return {sums.begin(), sums.end()};
}

template <class T>
void expect_close(const IndiceConvolutionInputs<T>& inputs, const std::vector<float>& sums, double tolerance) {
  for (const auto algorithm : kAlgorithms) {
    std::vector<float> first;
    for (const int count : {2, 1, 16}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      const Handle handle(algorithm);
      const IndiceConvolutionCall<T> call(handle, inputs, Placement::kAgainstEnd);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(call.intact());
      const auto [diff1, diff2] = differences(call.output(), sums);
      EXPECT_LE(diff1, tolerance);
      EXPECT_LE(diff2, tolerance);
      if (algorithm == MLUOP_OMP_ALGORITHM_DEVICE) continue;
      if (first.empty()) first = call.output();
      EXPECT_TRUE(same_bits(call.output(), first));
    }
  }
}

// Half represents all values exactly, so one oracle serves both data types.
void expect_sums(const SparseTensor& tensor, const SparseConvolution& convolution, int64_t Ci, int64_t Co,
                 std::mt19937& random) {
  SCOPED_TRACE(std::to_string(Ci) + " to " + std::to_string(Co) + (convolution.submanifold ? " submanifold" : ""));
  const IndicePairs pairs = indice_pairs(tensor.sites, tensor.grid, convolution);
  const auto sizes = sizes_of(tensor, convolution, pairs, Ci, Co);
  const auto layout = FilterLayout::kNdhwc;
  IndiceConvolutionInputs<Half> halves{sizes, layout, {}, {}, pairs.pairs, pairs.num};
  halves.features.resize(static_cast<size_t>(sizes.features_count()));
  halves.filters.resize(static_cast<size_t>(sizes.filters_count()));
  make_fractional(halves, random);
  IndiceConvolutionInputs<float> floats{sizes, layout, {}, {}, pairs.pairs, pairs.num};
  for (const Half feature : halves.features) floats.features.push_back(to_f32(feature));
  for (const Half weight : halves.filters) floats.filters.push_back(to_f32(weight));
  const auto sums = sums_of(floats);
  expect_close(floats, sums, kFloatTolerance);
  expect_close(halves, sums, kHalfTolerance);
}

TEST(OpsIndiceConvolutionForward, CenterPoint) {
  auto random = seeded_random();
  const SparseTensor tensor = center_point_tensor({3, 6000});
  expect_sums(tensor, kCenterPointSteps[3], 128, 128, random);
  expect_sums(tensor, submanifold({3, 3, 3}), 16, 16, random);
}

TEST(BigIndiceConvolutionForward, CenterPoint) {
  auto random = seeded_random();
  for (const CenterPointInput& input : kCenterPointInputs) {
    const SparseTensor tensor = center_point_tensor(input);
    const int64_t channels = int64_t{16} << input.level;
    expect_sums(tensor, kCenterPointSteps[input.level], channels, std::min<int64_t>(channels * 2, 128), random);
    expect_sums(tensor, submanifold({3, 3, 3}), channels, channels, random);
  }
}

}  // namespace
}  // namespace mluop::test

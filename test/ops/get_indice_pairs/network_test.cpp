// The pairs of mluOpGetIndicePairs in mluOpIndiceConvolutionForward, against dense convolution; and the pairs of
// LiDAR scans, against those of the generator that the perf suite uses.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/get_indice_pairs/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "support/center_point.h"
#include "support/compare.h"
#include "support/dense_convolution.h"
#include "support/environment.h"
#include "support/indice_pairs.h"

namespace mluop::test {
namespace {

const SparseConvolution kLayers[] = {
    {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}},
    {{3, 1, 1}, {2, 1, 1}},
    {{2, 2, 2}, {2, 2, 2}},
    {{3, 2, 3}, {1, 2, 1}, {2, 1, 3}, {2, 1, 3}},
    submanifold({3, 3, 3}),
    submanifold({1, 5, 3}),
};

// The call for the sites of a tensor.
GetIndicePairsInputs inputs_of(const SparseTensor& tensor, const SparseConvolution& convolution, int64_t outputs) {
  const auto space = [](const Site& grid) { return IndicePairsProblem::Extent{grid[1], grid[2], grid[3]}; };
  return {false,
          {tensor.grid[0], space(tensor.grid), space(output_grid(tensor.grid, convolution)), convolution.kernel,
           convolution.stride, convolution.padding, convolution.dilation, convolution.submanifold, tensor.sites},
          outputs};
}

SparseTensor random_tensor(const Site& grid, std::mt19937& random) {
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
  return tensor;
}

std::vector<float> dense_result(const SparseTensor& tensor, const SparseConvolution& convolution,
                                const std::vector<int32_t>& out_indices,
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
  for (size_t row = 0; row < out_indices.size(); row += 4) {
    const Site site = {out_indices[row], out_indices[row + 1], out_indices[row + 2], out_indices[row + 3]};
    const size_t place = reference::dense_index(output_grid(tensor.grid, convolution), site, Co);
    for (size_t co = 0; co < static_cast<size_t>(Co); ++co) {
      expected.push_back(static_cast<float>(result[place + co]));
    }
  }
  return expected;
}

TEST(OpsGetIndicePairs, DenseConvolution) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const SparseConvolution& convolution : kLayers) {
    SCOPED_TRACE(&convolution - kLayers);
    const SparseTensor tensor = random_tensor({2, 6, 9, 8}, random);
    const int64_t outputs =
        static_cast<int64_t>(indice_pairs(tensor.sites, tensor.grid, convolution).outputs.size());
    const Handle handle;
    const GetIndicePairsCall pairs(handle, inputs_of(tensor, convolution, outputs));
    ASSERT_EQ(pairs.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto& [depth, height, width] = convolution.kernel;
    const IndiceConvolutionSizes sizes = {
        static_cast<int64_t>(tensor.sites.size()), pairs.num_act_out(), 7, 18, depth, height, width};
    // Integers: the sums are exact.
    auto inputs = random_indice_convolution<float>(sizes, FilterLayout::kNdhwc, random);
    inputs.indice_pairs = pairs.pairs_buffer.values();
    const auto num = pairs.num_buffer.values();
    inputs.indice_num.assign(num.begin(), num.end());
    IndiceConvolutionCall<float> call(handle, inputs);
    call.sub_m = convolution.submanifold ? 1 : 0;
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.output(), dense_result(tensor, convolution, pairs.out_buffer.values(), inputs)));
  }
}

void expect_generated(const SparseTensor& tensor, const SparseConvolution& convolution) {
  const IndicePairs expected = indice_pairs(tensor.sites, tensor.grid, convolution);
  const auto inputs = inputs_of(tensor, convolution, static_cast<int64_t>(expected.outputs.size()));
  for (const int count : {1, 2, 5, 16}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    const Handle handle;
    const GetIndicePairsCall call(handle, inputs, Placement::kAgainstEnd);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.intact());
    ASSERT_EQ(call.pairs_buffer.values(), expected.pairs);
    const auto num = call.num_buffer.values();
    EXPECT_EQ(std::vector<int64_t>(num.begin(), num.end()), expected.num);
    std::vector<int32_t> out;
    for (const Site& site : expected.outputs) out.insert(out.end(), site.begin(), site.end());
    EXPECT_EQ(call.out_buffer.values(), out);
  }
}

TEST(OpsGetIndicePairs, CenterPoint) {
  const SparseTensor tensor = center_point_tensor({1, 6000, 1});
  expect_generated(tensor, kCenterPointSteps[1]);
  expect_generated(tensor, submanifold({3, 3, 3}));
}

TEST(BigGetIndicePairs, CenterPoint) {
  for (const CenterPointInput& input : kCenterPointInputs) {
    const SparseTensor tensor = center_point_tensor(input);
    expect_generated(tensor, kCenterPointSteps[input.level]);
    expect_generated(tensor, submanifold({3, 3, 3}));
  }
}

}  // namespace
}  // namespace mluop::test

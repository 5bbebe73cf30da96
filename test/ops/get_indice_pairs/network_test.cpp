// The pairs of mluOpGetIndicePairs in mluOpIndiceConvolutionForward, against dense convolution; and the pairs of
// LiDAR scans.
#include <gtest/gtest.h>

#include "ops/get_indice_pairs/convolution_case.h"
#include "ops/indice_convolution/convolution_cases.h"
#include "support/dense_convolution.h"
#include "support/labels.h"
#include "support/scenes.h"

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

// The problem of the sites of a tensor.
IndicePairsProblem problem_of(const SparseTensor& tensor, const SparseConvolution& convolution) {
  const auto space = [](const Site& grid) { return IndicePairsProblem::Extent{grid[1], grid[2], grid[3]}; };
  return {tensor.grid[0],       space(tensor.grid),      space(output_grid(tensor.grid, convolution)),
          convolution.kernel,   convolution.stride,      convolution.padding,
          convolution.dilation, convolution.submanifold, tensor.sites};
}

// The sites in the rows of out_indices.
std::vector<Site> sites_of(const std::vector<int32_t>& out_indices) {
  std::vector<Site> sites;
  for (size_t row = 0; row < out_indices.size(); row += 4) {
    sites.push_back({out_indices[row], out_indices[row + 1], out_indices[row + 2], out_indices[row + 3]});
  }
  return sites;
}

TEST(OpsGetIndicePairs, DenseConvolution) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const SparseConvolution& convolution : kLayers) {
    SCOPED_TRACE(&convolution - kLayers);
    SparseTensor tensor{{2, 6, 9, 8}, {}};
    tensor.sites = with_random_sites(problem_of(tensor, convolution), 120, random).sites;
    const cases::Case pairs_made = convolution_case(problem_of(tensor, convolution));
    const Handle handle;
    const OperatorCall pairs(handle, pairs_made);
    ASSERT_EQ(pairs.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto num = pairs.int32s("indice_num");
    const auto& [depth, height, width] = convolution.kernel;
    cases::Case made = make_integers(kConvolutionForward, MLUOP_DTYPE_FLOAT,
                                     {120, pairs["out_indices"].dim(0), 7, 18, depth, height, width}, random);
    set_pairs(made, pairs.int32s("indice_pairs"), {num.begin(), num.end()});
    made.parameters.set("sub_m", convolution.submanifold ? 1 : 0);
    expect_exact(made, reference::dense_convolution_rows(tensor.grid, tensor.sites, convolution,
                                                         sites_of(pairs.int32s("out_indices")),
                                                         floats_of(made, "features"), floats_of(made, "filters")));
  }
}

void expect_level(const SparseTensor& tensor, const SparseConvolution& step) {
  for (const SparseConvolution& convolution : {step, submanifold({3, 3, 3})}) {
    expect_pairs(convolution_case(problem_of(tensor, convolution)), {1, 5, 16}, {Placement::kAgainstEnd});
  }
}

TEST(OpsGetIndicePairs, CenterPoint) {
  MLUOP_LABELS(kNetworkSize);
  expect_level(center_point_tensor({1, 6000, 1}), kCenterPointSteps[1]);
}

// The levels with the most sites and with padding that differs along the axes.
TEST(BigGetIndicePairs, CenterPoint) {
  for (const CenterPointInput& input : {kCenterPointInputs[1], kCenterPointInputs[2]}) {
    expect_level(center_point_tensor(input), kCenterPointSteps[input.level]);
  }
}

}  // namespace
}  // namespace mluop::test

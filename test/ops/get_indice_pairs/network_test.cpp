// The pairs of mluOpGetIndicePairs in mluOpIndiceConvolutionForward, against dense convolution; and the pairs of
// LiDAR scans, against those of the generator that the perf suite uses.
#include <gtest/gtest.h>

#include "ops/get_indice_pairs/convolution_case.h"
#include "support/center_point.h"
#include "support/compare.h"
#include "support/dense_convolution.h"
#include "support/environment.h"
#include "support/indice_pairs.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

using cases::Case;

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

// The sites of the rows of out_indices.
std::vector<Site> sites_of(const std::vector<int32_t>& out_indices) {
  std::vector<Site> sites;
  for (size_t row = 0; row < out_indices.size(); row += 4) {
    sites.push_back({out_indices[row], out_indices[row + 1], out_indices[row + 2], out_indices[row + 3]});
  }
  return sites;
}

TEST(OpsGetIndicePairs, DenseConvolution) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const SparseConvolution& convolution : kLayers) {
    SCOPED_TRACE(&convolution - kLayers);
    SparseTensor tensor{{2, 6, 9, 8}, {}};
    tensor.sites = with_random_sites(problem_of(tensor, convolution), 120, random).sites;
    const Handle handle;
    const Case pairs_made = convolution_case(problem_of(tensor, convolution));
    const OperatorCall pairs(handle, pairs_made);
    ASSERT_EQ(pairs.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto& [depth, height, width] = convolution.kernel;
    Case made = make_case("indice_convolution_forward", MLUOP_DTYPE_FLOAT,
                          {{"num_act_in", static_cast<int64_t>(tensor.sites.size())},
                           {"num_act_out", pairs["out_indices"].dim(0)},
                           {"ci", 7},
                           {"co", 18},
                           {"d", depth},
                           {"h", height},
                           {"w", width}});
    // Integers: the sums are exact.
    const auto features = random_integers<float>(tensor.sites.size() * 7, random, 2);
    const auto filters = random_integers<float>(static_cast<size_t>(convolution.offsets()) * 7 * 18, random, 2);
    set_values(made, "features", features);
    set_values(made, "filters", filters);
    set_values(made, "indice_pairs", pairs.int32s("indice_pairs"));
    const auto num = pairs.int32s("indice_num");
    made.parameters.set("indice_num", std::vector<int64_t>(num.begin(), num.end()));
    made.parameters.set("sub_m", convolution.submanifold ? 1 : 0);
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(
        same_bits(call.floats("features_out"),
                  reference::dense_convolution_rows(tensor.grid, tensor.sites, convolution,
                                                    sites_of(pairs.int32s("out_indices")), features, filters)));
  }
}

void expect_generated(const SparseTensor& tensor, const SparseConvolution& convolution) {
  const IndicePairs expected = indice_pairs(tensor.sites, tensor.grid, convolution);
  std::vector<int32_t> out;
  for (const Site& site : expected.outputs) out.insert(out.end(), site.begin(), site.end());
  const Case made = convolution_case(problem_of(tensor, convolution));
  for (const int count : {1, 2, 5, 16}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    const Handle handle;
    const OperatorCall call(handle, made, Placement::kAgainstEnd);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.intact());
    EXPECT_TRUE(call.int32s("indice_pairs") == expected.pairs);
    const auto num = call.int32s("indice_num");
    EXPECT_EQ(std::vector<int64_t>(num.begin(), num.end()), expected.num);
    EXPECT_TRUE(call.int32s("out_indices") == out);
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

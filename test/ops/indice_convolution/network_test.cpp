// The three indice convolutions on the index pairs of convolutions: forward against dense convolution on small
// grids; all against sums in double on CenterPoint's backbone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/center_point.h"
#include "support/dense_convolution.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using cases::Case;

// Fractions on the pairs of a sparse convolution.
Case make_sparse(const IndiceConvolution& convolution, mluOpDataType_t dtype, const SparseConvolution& sparse,
                 const IndicePairs& pairs, int64_t Ci, int64_t Co, std::mt19937& random) {
  const auto inputs = static_cast<int64_t>(pairs.pairs.size()) / 2 / sparse.offsets();
  Case made = make_case(convolution.op, dtype,
                        {{"num_act_in", inputs},
                         {"num_act_out", static_cast<int64_t>(pairs.outputs.size())},
                         {"ci", Ci},
                         {"co", Co},
                         {"d", sparse.kernel[0]},
                         {"h", sparse.kernel[1]},
                         {"w", sparse.kernel[2]}},
                        static_cast<int32_t>(random() % 10000));
  set_values(made, "indice_pairs", pairs.pairs);
  made.parameters.set("indice_num", pairs.num);
  made.parameters.set("sub_m", sparse.submanifold ? 1 : 0);
  return made;
}

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

SparseTensor random_tensor(const Site& grid, std::mt19937& random) {
  SiteSet sites(grid);
  for (int i = 0; i < 150; ++i) {
    Site site;
    for (size_t axis = 0; axis < site.size(); ++axis) {
      site[axis] = static_cast<int32_t>(random() % static_cast<uint32_t>(grid[axis]));
    }
    sites.insert(site);
  }
  SparseTensor tensor{grid, sites.sites()};
  std::shuffle(tensor.sites.begin(), tensor.sites.end(), random);
  return tensor;
}

TEST(OpsIndiceConvolutionForward, DenseConvolution) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const SparseConvolution& sparse : kConvolutions) {
    SCOPED_TRACE(&sparse - kConvolutions);
    const SparseTensor tensor = random_tensor({2, 6, 9, 8}, random);
    const IndicePairs pairs = indice_pairs(tensor.sites, tensor.grid, sparse);
    const Case made =
        with_integers(make_sparse(kConvolutionForward, MLUOP_DTYPE_FLOAT, sparse, pairs, 7, 18, random), random);
    expect_exact(made, reference::dense_convolution_rows(tensor.grid, tensor.sites, sparse, pairs.outputs,
                                                         floats_of(made, "features"), floats_of(made, "filters")));
  }
}

void expect_sums(const Case& made, const std::vector<float>& sums) {
  for (const auto algorithm : algorithms_of(made)) {
    std::vector<float> first;
    for (const int count : {2, 1, 16}) {
      SCOPED_TRACE(text_of(algorithm));
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      const std::vector<float> found = result_of(made, algorithm, Placement::kAgainstEnd);
      expect_close(found, sums, made.outputs[0].dtype);
      if (first.empty()) first = found;
      EXPECT_TRUE(algorithm == MLUOP_OMP_ALGORITHM_DEVICE || same_bits(found, first));
    }
  }
}

void expect_level(const IndiceConvolution& convolution, const SparseTensor& tensor,
                  const SparseConvolution& sparse, int64_t Ci, int64_t Co, std::mt19937& random) {
  SCOPED_TRACE(std::to_string(Ci) + " to " + std::to_string(Co) + (sparse.submanifold ? " submanifold" : ""));
  const IndicePairs pairs = indice_pairs(tensor.sites, tensor.grid, sparse);
  // Half represents all values exactly, so one oracle serves both data types.
  const Case halves = make_sparse(convolution, MLUOP_DTYPE_HALF, sparse, pairs, Ci, Co, random);
  Case floats = make_sparse(convolution, MLUOP_DTYPE_FLOAT, sparse, pairs, Ci, Co, random);
  for (size_t i = 0; i < 2; ++i) set_values(floats, floats.inputs[i].id, floats_of(halves, floats.inputs[i].id));
  const std::vector<float> sums = expected_output(floats, true);
  expect_sums(floats, sums);
  expect_sums(halves, sums);
}

void expect_one_level(const IndiceConvolution& convolution) {
  auto random = seeded_random();
  const SparseTensor tensor = center_point_tensor({3, 6000});
  expect_level(convolution, tensor, kCenterPointSteps[3], 128, 128, random);
  expect_level(convolution, tensor, submanifold({3, 3, 3}), 16, 16, random);
}

void expect_all_levels(const IndiceConvolution& convolution) {
  auto random = seeded_random();
  for (const CenterPointInput& input : kCenterPointInputs) {
    const SparseTensor tensor = center_point_tensor(input);
    const int64_t channels = int64_t{16} << input.level;
    const int64_t outputs = std::min<int64_t>(channels * 2, 128);
    expect_level(convolution, tensor, kCenterPointSteps[input.level], channels, outputs, random);
    expect_level(convolution, tensor, submanifold({3, 3, 3}), channels, channels, random);
  }
}

TEST(OpsIndiceConvolutionForward, CenterPoint) { expect_one_level(kConvolutionForward); }
TEST(OpsIndiceConvolutionBackwardData, CenterPoint) { expect_one_level(kConvolutionBackwardData); }
TEST(OpsIndiceConvolutionBackwardFilter, CenterPoint) { expect_one_level(kConvolutionBackwardFilter); }

TEST(BigIndiceConvolutionForward, CenterPoint) { expect_all_levels(kConvolutionForward); }
TEST(BigIndiceConvolutionBackwardData, CenterPoint) { expect_all_levels(kConvolutionBackwardData); }
TEST(BigIndiceConvolutionBackwardFilter, CenterPoint) { expect_all_levels(kConvolutionBackwardFilter); }

}  // namespace
}  // namespace mluop::test

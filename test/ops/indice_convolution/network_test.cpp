// The three indice convolutions on the index pairs of CenterPoint's backbone, against sums in double.
// test/ops/get_indice_pairs/network_test.cpp compares the forward operator with dense convolution.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/indice_convolution/convolution_cases.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/scenes.h"

namespace mluop::test {
namespace {

using cases::Case;

void expect_sums(const Case& made, const std::vector<float>& sums) {
  for (const auto algorithm : algorithms_of(made)) {
    std::vector<float> first;
    for (const int count : {2, 16}) {
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

// The layer of the network on the sites of a tensor, with fractions.
void expect_layer(const SparseTensor& tensor, const SparseConvolution& sparse, int64_t Ci, int64_t Co) {
  const auto& [depth, height, width] = sparse.kernel;
  const IndicePairs pairs = indice_pairs(tensor.sites, tensor.grid, sparse);
  const auto inputs = static_cast<int64_t>(tensor.sites.size());
  const auto outputs = static_cast<int64_t>(pairs.outputs.size());
  const IndiceConvolutionSizes sizes{inputs, outputs, Ci, Co, depth, height, width};
  auto random = seeded_random();
  for (const IndiceConvolution& convolution : kIndiceConvolutions) {
    SCOPED_TRACE(convolution.op + (' ' + text_of(sizes)));
    Case halves = make_convolution(convolution, MLUOP_DTYPE_HALF, sizes, random);
    Case floats = make_convolution(convolution, MLUOP_DTYPE_FLOAT, sizes, random);
    for (Case* made : {&halves, &floats}) {
      set_pairs(*made, pairs.pairs, pairs.num);
      made->parameters.set("sub_m", sparse.submanifold ? 1 : 0);
    }
    // Half represents all values exactly, so one oracle serves both data types.
    for (size_t i = 0; i < 2; ++i) set_values(floats, floats.inputs[i].id, floats_of(halves, floats.inputs[i].id));
    const std::vector<float> sums = expected_output(floats, true);
    expect_sums(floats, sums);
    expect_sums(halves, sums);
  }
}

TEST(OpsIndiceConvolution, CenterPoint) {
  MLUOP_LABELS(kNetworkSize);
  const SparseTensor tensor = center_point_tensor({3, 6000});
  expect_layer(tensor, kCenterPointSteps[3], 128, 128);
  expect_layer(tensor, submanifold({3, 3, 3}), 16, 16);
}

// The level with the most rows.
TEST(BigIndiceConvolution, CenterPoint) {
  expect_layer(center_point_tensor(kCenterPointInputs[0]), kCenterPointSteps[0], 16, 32);
}

// The level with the most channels at 27 offsets.
TEST(LargeIndiceConvolution, CenterPoint) {
  expect_layer(center_point_tensor(kCenterPointInputs[2]), kCenterPointSteps[2], 64, 128);
}

}  // namespace
}  // namespace mluop::test

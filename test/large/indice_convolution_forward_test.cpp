// mluOpIndiceConvolutionForward with features and output of more than 2^31 elements and few pairs: every element
// against the oracle for the rows that pairs name.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "large/large_memory.h"
#include "large/large_pairs.h"
#include "ops/indice_convolution_forward/call.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// T: float or Half.
template <class T>
struct Convolution {
  // The rows of `small` among `in_rows` and `out_rows`.
  Convolution(const IndiceConvolutionInputs<T>& small, int64_t in_rows, int64_t out_rows, std::mt19937& random)
      : inputs(small),
        rulebook(small.sizes, small.indice_pairs, small.indice_num, in_rows, out_rows, random),
        sizes(rulebook.sizes),
        features(in_rows * sizes.Ci, Pages::kSparse),
        features_out(out_rows * sizes.Co, Pages::kDense) {
    copy_rows(inputs.features, sizes.Ci, rulebook.in, features);
  }

  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm) const {
    const Handle handle(algorithm);
    const Descriptor features_desc(kDtype<T>, {sizes.num_act_in, sizes.Ci});
    const Descriptor filters_desc = filters_descriptor(kDtype<T>, sizes, inputs.layout);
    const Descriptor pairs_desc(MLUOP_DTYPE_INT32, {sizes.K(), 2, sizes.num_act_in});
    const Descriptor out_desc(kDtype<T>, {sizes.num_act_out, sizes.Co});
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, features_desc, filters_desc, pairs_desc,
                                                          out_desc, inputs.indice_num.data(), sizes.num_act_out, 0,
                                                          0, &bytes));
    const LargeMemory workspace(bytes, Pages::kDense);
    return mluOpIndiceConvolutionForward(handle, features_desc, features.data(), filters_desc,
                                         inputs.filters.data(), pairs_desc, rulebook.pairs.data(),
                                         inputs.indice_num.data(), sizes.num_act_out, 0, 0, workspace.bytes(),
                                         bytes, out_desc, features_out.data());
  }

  void expect_result(mluOpOmpAlgorithm_t algorithm) const {
    SCOPED_TRACE(text_of(algorithm));
    const auto expected = indice_convolution_reference(inputs);
    features_out.poison();
    ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const auto holds = [&](int64_t row) { return row_holds(features_out, row, sizes.Co, rulebook.out, expected); };
    EXPECT_EQ(first_violation(sizes.num_act_out, holds), sizes.num_act_out);
  }

  IndiceConvolutionInputs<T> inputs;
  LargePairs rulebook;
  IndiceConvolutionSizes sizes;  // of the large tensors
  LargeBuffer<T> features;
  LargeBuffer<T> features_out;
};

constexpr int64_t kRows = (int64_t{1} << 25) + 103, kWidth = 64;
static_assert(kRows * kWidth > kLimit);

class LargeIndiceConvolutionForward : public ::testing::Test {
 protected:
  template <class T>
  Convolution<T> random_convolution() {
    const auto small =
        random_indice_convolution<T>({2000, 1500, kWidth, kWidth, 1, 1, 3}, FilterLayout::kNdhwc, random);
    return {small, kRows, kRows + 1000, random};
  }

  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

TEST_F(LargeIndiceConvolutionForward, FeaturesAndOutputInFloat) {
  MLUOP_REQUIRE_MEMORY(9);
  const auto call = random_convolution<float>();
  for (const auto algorithm : kAlgorithms) call.expect_result(algorithm);
}

TEST_F(LargeIndiceConvolutionForward, FeaturesAndOutputInHalf) {
  MLUOP_REQUIRE_MEMORY(5);
  random_convolution<Half>().expect_result(MLUOP_OMP_ALGORITHM_NATIVE);
}

// The device algorithm has sums in fp32 beside the output.
TEST_F(LargeIndiceConvolutionForward, FeaturesAndOutputInHalfOnDevice) {
  MLUOP_REQUIRE_MEMORY(14);
  random_convolution<Half>().expect_result(MLUOP_OMP_ALGORITHM_DEVICE);
}

}  // namespace
}  // namespace mluop::test

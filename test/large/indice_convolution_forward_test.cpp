// mluOpIndiceConvolutionForward with features and output of more than 2^31 elements and few pairs: every element
// against the oracle for the rows that pairs name.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "large/large_memory.h"
#include "ops/indice_convolution_forward/call.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;

// `count` rows of [0, rows), ascending: the last ones and others.
std::vector<int64_t> random_rows(int64_t rows, size_t count, std::mt19937& random) {
  std::set<int64_t> chosen;
  while (chosen.size() < count / 10) chosen.insert(rows - 1 - static_cast<int64_t>(chosen.size()));
  while (chosen.size() < count) chosen.insert(static_cast<int64_t>(random()) % rows);
  return {chosen.begin(), chosen.end()};
}

// T: float or Half.
template <class T>
struct Convolution {
  // Rows of `small` at the rows `in` and `out` of large tensors.
  Convolution(const IndiceConvolutionInputs<T>& small, int64_t in_rows, int64_t out_rows, std::mt19937& random)
      : inputs(small),
        sizes(small.sizes),
        in(random_rows(in_rows, static_cast<size_t>(small.sizes.num_act_in), random)),
        out(random_rows(out_rows, static_cast<size_t>(small.sizes.num_act_out), random)),
        features((sizes.num_act_in = in_rows) * sizes.Ci, Pages::kSparse),
        pairs(sizes.K() * 2 * in_rows, Pages::kSparse),
        features_out((sizes.num_act_out = out_rows) * sizes.Co, Pages::kDense) {
    const int64_t small_rows = inputs.sizes.num_act_in;
    for (int64_t row = 0; row < small_rows; ++row) {
      std::copy_n(inputs.features.begin() + row * sizes.Ci, sizes.Ci,
                  features.data() + in[static_cast<size_t>(row)] * sizes.Ci);
    }
    for (int64_t k = 0; k < sizes.K(); ++k) {
      for (int64_t l = 0; l < inputs.indice_num[static_cast<size_t>(k)]; ++l) {
        for (int64_t side = 0; side < 2; ++side) {
          const auto index = inputs.indice_pairs[static_cast<size_t>((k * 2 + side) * small_rows + l)];
          const auto& rows = side == 0 ? in : out;
          // A pair that is skipped has a negative index and any other one.
          const bool is_row = index >= 0 && static_cast<size_t>(index) < rows.size();
          pairs[(k * 2 + side) * in_rows + l] =
              is_row ? static_cast<int32_t>(rows[static_cast<size_t>(index)]) : index;
        }
      }
    }
  }

  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm) const {
    constexpr auto kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;
    const Handle handle(algorithm);
    const Descriptor features_desc(kDtype, {sizes.num_act_in, sizes.Ci});
    const Descriptor filters_desc = filters_descriptor(kDtype, sizes, inputs.layout);
    const Descriptor pairs_desc(MLUOP_DTYPE_INT32, {sizes.K(), 2, sizes.num_act_in});
    const Descriptor out_desc(kDtype, {sizes.num_act_out, sizes.Co});
    size_t bytes = 0;
    require(mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, features_desc, filters_desc, pairs_desc,
                                                          out_desc, inputs.indice_num.data(), sizes.num_act_out, 0,
                                                          0, &bytes));
    const LargeMemory workspace(bytes, Pages::kDense);
    return mluOpIndiceConvolutionForward(handle, features_desc, features.data(), filters_desc,
                                         inputs.filters.data(), pairs_desc, pairs.data(), inputs.indice_num.data(),
                                         sizes.num_act_out, 0, 0, workspace.bytes(), bytes, out_desc,
                                         features_out.data());
  }

  void expect_result(mluOpOmpAlgorithm_t algorithm) const {
    SCOPED_TRACE(text_of(algorithm));
    const auto expected = indice_convolution_reference(inputs);
    features_out.poison();
    ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const int64_t rows = sizes.num_act_out;
    EXPECT_EQ(first_violation(rows, [&](int64_t row) { return holds(row, expected); }), rows);
  }

  bool holds(int64_t row, const std::vector<float>& expected) const {
    const T* values = features_out.data() + row * sizes.Co;
    const auto at = std::lower_bound(out.begin(), out.end(), row);
    if (at == out.end() || *at != row) return all_zero(values, static_cast<size_t>(sizes.Co) * sizeof(T));
    return std::equal(values, values + sizes.Co, expected.begin() + (at - out.begin()) * sizes.Co,
                      [](T a, float b) { return to_f32(a) == b; });
  }

  IndiceConvolutionInputs<T> inputs;
  IndiceConvolutionSizes sizes;  // of the large tensors
  std::vector<int64_t> in, out;  // ascending
  LargeBuffer<T> features;
  LargeBuffer<int32_t> pairs;
  LargeBuffer<T> features_out;
};

constexpr int64_t kRows = (int64_t{1} << 25) + 103, kChannels = 64;
static_assert(kRows * kChannels > kLimit);

class LargeIndiceConvolutionForward : public ::testing::Test {
 protected:
  template <class T>
  Convolution<T> random_convolution() {
    const auto small =
        random_indice_convolution<T>({2000, 1500, kChannels, kChannels, 1, 1, 3}, FilterLayout::kNdhwc, random);
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

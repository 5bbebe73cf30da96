// mluOpThreeInterpolateBackward with tensors of more than 2^31 elements, in half: every element against the
// oracle. Features and weights are integers, so that sums are exact in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "large/large_memory.h"
#include "ops/three_interpolate_backward/call.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

struct Interpolation {
  explicit Interpolation(const ThreeInterpolateSizes& with)
      : sizes(with),
        grad_output(sizes.B * sizes.C * sizes.N, Pages::kSparse),
        indices(sizes.B * sizes.N * 3, Pages::kSparse),
        weights(sizes.B * sizes.N * 3, Pages::kSparse),
        grad_features(sizes.B * sizes.C * sizes.M, Pages::kDense) {}

  // Gradients of every `step`-th channel; the others are 0.
  void randomize(int64_t step, std::mt19937& random) const {
    const auto integer = [&] { return to_f16(static_cast<float>(random() % 5) - 2.0F); };
    for (int64_t row = sizes.B * sizes.C - 1; row >= 0; row -= step) {
      for (int64_t n = 0; n < sizes.N; ++n) grad_output[row * sizes.N + n] = integer();
    }
    for (int64_t i = 0; i < sizes.B * sizes.N * 3; ++i) {
      // The last features, as far as an index reaches them, and others.
      const int64_t last = std::min(sizes.M, kLimit) - 1;
      indices[i] = static_cast<int32_t>(i % 7 == 0 ? last - i % std::min<int64_t>(sizes.M, 5)
                                                   : static_cast<int64_t>(random()) % (last + 1));
      weights[i] = integer();
    }
  }

  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm) const {
    const Handle handle(algorithm);
    const Descriptor grad_output_desc(MLUOP_DTYPE_HALF, {sizes.B, sizes.C, sizes.N});
    const Descriptor indices_desc(MLUOP_DTYPE_INT32, {sizes.B, sizes.N, 3});
    const Descriptor weights_desc(MLUOP_DTYPE_HALF, {sizes.B, sizes.N, 3});
    const Descriptor grad_features_desc(MLUOP_DTYPE_HALF, {sizes.B, sizes.C, sizes.M});
    return mluOpThreeInterpolateBackward(handle, grad_output_desc, grad_output.data(), indices_desc,
                                         indices.data(), weights_desc, weights.data(), grad_features_desc,
                                         grad_features.data());
  }

  // Whether row (b, c) of grad_features is that of the oracle.
  bool holds(int64_t row) const {
    const int64_t points = row / sizes.C * sizes.N * 3;
    const Half* gradients = grad_output.data() + row * sizes.N;
    const Half* features = grad_features.data() + row * sizes.M;
    if (sizes.M <= kOracleFeatures) {
      if (all_zero(gradients, static_cast<size_t>(sizes.N) * sizeof(Half))) {
        // -0 may be among the zeros.
        return std::all_of(features, features + sizes.M, [](Half h) { return to_f32(h) == 0; });
      }
      std::vector<Half> expected(static_cast<size_t>(sizes.M));
      reference::three_interpolate_backward({1, 1, sizes.N, sizes.M}, gradients, indices.data() + points,
                                            weights.data() + points, expected.data());
      return std::equal(expected.begin(), expected.end(), features,
                        [](Half a, Half b) { return to_f32(a) == to_f32(b); });
    }
    return sparse_holds(gradients, indices.data() + points, weights.data() + points, features);
  }

  // As holds(), for few points and many features.
  bool sparse_holds(const Half* gradients, const int32_t* of_points, const Half* weights_of_points,
                    const Half* features) const {
    std::vector<int32_t> used(of_points, of_points + sizes.N * 3);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::vector<int32_t> renumbered;
    for (int64_t i = 0; i < sizes.N * 3; ++i) {
      renumbered.push_back(
          static_cast<int32_t>(std::lower_bound(used.begin(), used.end(), of_points[i]) - used.begin()));
    }
    std::vector<Half> expected(used.size());
    reference::three_interpolate_backward({1, 1, sizes.N, static_cast<int64_t>(used.size())}, gradients,
                                          renumbered.data(), weights_of_points, expected.data());
    int64_t next = 0;
    for (size_t i = 0; i < used.size(); ++i) {
      if (!all_zero(features + next, static_cast<size_t>(used[i] - next) * sizeof(Half))) return false;
      if (to_f32(features[used[i]]) != to_f32(expected[i])) return false;
      next = int64_t{used[i]} + 1;
    }
    return all_zero(features + next, static_cast<size_t>(sizes.M - next) * sizeof(Half));
  }

  void expect_results() const {
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      grad_features.poison();
      ASSERT_EQ(run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      const int64_t rows = sizes.B * sizes.C;
      EXPECT_EQ(first_violation(rows, [&](int64_t row) { return holds(row); }), rows);
    }
  }

  static constexpr int64_t kOracleFeatures = 1000;

  ThreeInterpolateSizes sizes;
  LargeBuffer<Half> grad_output;
  LargeBuffer<int32_t> indices;
  LargeBuffer<Half> weights;
  LargeBuffer<Half> grad_features;
};

class LargeThreeInterpolateBackward : public ::testing::Test {
 protected:
  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

TEST_F(LargeThreeInterpolateBackward, GradOutput) {
  MLUOP_REQUIRE_MEMORY(1);
  const Interpolation call({2, 4100, 262000, 64});
  ASSERT_GT(call.sizes.B * call.sizes.C * call.sizes.N, kLimit);
  call.randomize(97, random);
  call.expect_results();
}

TEST_F(LargeThreeInterpolateBackward, GradFeatures) {
  MLUOP_REQUIRE_MEMORY(5);
  const Interpolation call({2, 1024, 50, 1048700});
  ASSERT_GT(call.sizes.B * call.sizes.C * call.sizes.M, kLimit);
  call.randomize(1, random);
  call.expect_results();
}

// Features past 2^31 - 1 have no index: their gradient is 0.
TEST_F(LargeThreeInterpolateBackward, FeaturesWithoutAnIndex) {
  MLUOP_REQUIRE_MEMORY(5);
  const Interpolation call({1, 1, 50, kLimit + 12345});
  call.randomize(1, random);
  call.expect_results();
}

// More than 2^31 indices, all 0 but the last.
TEST_F(LargeThreeInterpolateBackward, BadIndexAtTheEnd) {
  const Interpolation call({1, 1, 715827900, 3});
  ASSERT_GT(call.sizes.N * 3, kLimit);
  call.indices[call.sizes.N * 3 - 1] = 3;
  for (const auto algorithm : kAlgorithms) {
    EXPECT_EQ(call.run(algorithm), MLUOP_STATUS_BAD_PARAM);
    EXPECT_STREQ(mluOpOmpGetLastError(),
                 "[mluOpThreeInterpolateBackward] indices[0, 715827899, 2] is 3, expected 0 to 2");
  }
}

}  // namespace
}  // namespace mluop::test

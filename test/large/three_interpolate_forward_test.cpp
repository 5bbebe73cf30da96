// mluOpThreeInterpolateForward with tensors of more than 2^31 elements, in half: rows against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "large/large_memory.h"
#include "ops/three_interpolate_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

struct ForwardInterpolation {
  explicit ForwardInterpolation(const ThreeInterpolateForwardSizes& with)
      : sizes(with),
        features(sizes.features_count(), Pages::kSparse),
        indices(sizes.index_count(), Pages::kSparse),
        weights(sizes.index_count(), Pages::kSparse),
        output(sizes.output_count(), Pages::kDense) {}

  // Features that an index names are fractions, most others 0.
  void randomize(std::mt19937& random) const {
    const auto fraction = [&] { return to_f16(static_cast<float>(random() % 2001) / 1000.0F - 1.0F); };
    for (int64_t i = 0; i < sizes.index_count(); ++i) {
      // The last features, and others.
      indices[i] = static_cast<int32_t>(i % 7 == 0 ? sizes.M - 1 - i % std::min<int64_t>(sizes.M, 5)
                                                   : static_cast<int64_t>(random()) % sizes.M);
      weights[i] = fraction();
    }
    for (int64_t row = 0; row < sizes.B * sizes.C; ++row) {
      const int32_t* of_batch = indices.data() + row / sizes.C * sizes.N * 3;
      for (int64_t i = 0; i < std::min(sizes.N * 3, 2 * sizes.M); ++i) {
        features[row * sizes.M + of_batch[i]] = fraction();
      }
    }
  }

  mluOpStatus_t run() const {
    const Handle handle;
    const Descriptor features_desc(MLUOP_DTYPE_HALF, {sizes.B, sizes.C, sizes.M});
    const Descriptor indices_desc(MLUOP_DTYPE_INT32, {sizes.B, sizes.N, 3});
    const Descriptor weights_desc(MLUOP_DTYPE_HALF, {sizes.B, sizes.N, 3});
    const Descriptor output_desc(MLUOP_DTYPE_HALF, {sizes.B, sizes.C, sizes.N});
    output.poison();
    return mluOpThreeInterpolateForward(handle, features_desc, features.data(), indices_desc, indices.data(),
                                        weights_desc, weights.data(), output_desc, output.data());
  }

  // Whether row (b, c) of the output is that of the oracle.
  bool holds(int64_t row) const {
    const int64_t points = row / sizes.C * sizes.N * 3;
    std::vector<Half> expected(static_cast<size_t>(sizes.N));
    reference::three_interpolate_forward({1, 1, sizes.M, sizes.N}, features.data() + row * sizes.M,
                                         indices.data() + points, weights.data() + points, expected.data());
    return std::equal(expected.begin(), expected.end(), output.data() + row * sizes.N,
                      [](Half a, Half b) { return to_f32(a) == to_f32(b); });
  }

  // Checks every `step`-th row, the last one included.
  void expect_result(int64_t step) const {
    ASSERT_EQ(run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const int64_t last = sizes.B * sizes.C - 1, count = last / step + 1;
    EXPECT_EQ(first_violation(count, [&](int64_t i) { return holds(last - i * step); }), count);
  }

  ThreeInterpolateForwardSizes sizes;
  LargeBuffer<Half> features;
  LargeBuffer<int32_t> indices;
  LargeBuffer<Half> weights, output;
};

class LargeThreeInterpolateForward : public ::testing::Test {
 protected:
  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

TEST_F(LargeThreeInterpolateForward, Features) {
  const ForwardInterpolation call({2, 1024, 1'048'700, 50});
  ASSERT_GT(call.sizes.features_count(), kLimit);
  call.randomize(random);
  call.expect_result(1);
}

TEST_F(LargeThreeInterpolateForward, Output) {
  MLUOP_REQUIRE_MEMORY(5);
  const ForwardInterpolation call({2, 4100, 64, 262'000});
  ASSERT_GT(call.sizes.output_count(), kLimit);
  call.randomize(random);
  call.expect_result(13);
}

// More than 2^31 indices, all 0 but the last.
TEST_F(LargeThreeInterpolateForward, BadIndexAtTheEnd) {
  const ForwardInterpolation call({1, 1, 3, 715'827'900});
  ASSERT_GT(call.sizes.index_count(), kLimit);
  call.indices[call.sizes.index_count() - 1] = 3;
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpOmpGetLastError(),
               "[mluOpThreeInterpolateForward] indices[0, 715827899, 2] is 3, expected 0 to 2");
}

}  // namespace
}  // namespace mluop::test

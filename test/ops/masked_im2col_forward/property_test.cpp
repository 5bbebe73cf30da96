// Properties of mluOpMaskedIm2colForward that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/masked_im2col_forward/call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

// T: uint16_t for half, uint32_t for float.
template <class T>
class OpsMaskedIm2colForwardProperties : public ::testing::Test {
 protected:
  MaskedIm2colInputs<T> random_problem() {
    const MaskedIm2colSizes sizes = {random_size(random, 40),   random_size(random, 30),  random_size(random, 30),
                                     random_size(random, 300),  random_size(random, 5),   random_size(random, 5),
                                     random_integer(random, 3), random_integer(random, 3)};
    return random_masked_im2col<T>(sizes, random);
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<uint16_t, uint32_t>;
TYPED_TEST_SUITE(OpsMaskedIm2colForwardProperties, Elements);

template <class T>
std::vector<T> result_of(const MaskedIm2colInputs<T>& inputs, mluOpOmpAlgorithm_t algorithm) {
  const Handle handle(algorithm);
  const MaskedIm2colCall<T> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.data_col_buffer.values();
}

// The number of coordinates of [0, extent) in the window of `kernel` coordinates from mask - pad on.
int64_t covered(int32_t mask, int pad, int kernel, int64_t extent) {
  const int64_t begin = int64_t{mask} - pad;
  return std::max<int64_t>(0, std::min(begin + kernel, extent) - std::max<int64_t>(begin, 0));
}

// A column of a feature of ones has a one for each pixel of its window inside the feature, and zeros else.
TYPED_TEST(OpsMaskedIm2colForwardProperties, OnesCountCoverage) {
  using T = TypeParam;
  constexpr T kOne = sizeof(T) == 2 ? T{0x3C00} : static_cast<T>(0x3F800000);
  for (int round = 0; round < kRounds; ++round) {
    MaskedIm2colInputs<T> inputs = this->random_problem();
    std::fill(inputs.feature.begin(), inputs.feature.end(), kOne);
    const auto& s = inputs.sizes;
    const auto columns = static_cast<size_t>(s.mask_cnt);
    std::vector<int64_t> expected;
    for (size_t k = 0; k < columns; ++k) {
      expected.push_back(s.channels * covered(inputs.mask_h_idx[k], s.pad_h, s.kernel_h, s.height) *
                         covered(inputs.mask_w_idx[k], s.pad_w, s.kernel_w, s.width));
    }
    const RandomTeam team(this->random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const auto data_col = result_of(inputs, algorithm);
      std::vector<int64_t> found(columns);
      for (size_t i = 0; i < data_col.size(); ++i) {
        ASSERT_TRUE(data_col[i] == 0 || data_col[i] == kOne) << "element " << i;
        if (data_col[i] == kOne) ++found[i % columns];
      }
      EXPECT_EQ(found, expected);
    }
  }
}

TYPED_TEST(OpsMaskedIm2colForwardProperties, NativeEqualsDevice) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const RandomTeam team(this->random);
    EXPECT_TRUE(result_of(inputs, MLUOP_OMP_ALGORITHM_NATIVE) == result_of(inputs, MLUOP_OMP_ALGORITHM_DEVICE));
  }
}

}  // namespace
}  // namespace mluop::test

// Properties of mluOpMaskedIm2colForward that need no oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

// Windows of random sizes, some of them outside the feature, which holds ones.
Case random_windows(std::mt19937& random, mluOpDataType_t dtype) {
  Case made = make_case("masked_im2col_forward", dtype,
                        {{"channels", random_size(random, 40)},
                         {"height", random_size(random, 30)},
                         {"width", random_size(random, 30)},
                         {"mask_cnt", random_size(random, 300)},
                         {"kernel_h", random_size(random, 5)},
                         {"kernel_w", random_size(random, 5)},
                         {"pad_h", random_integer(random, 3)},
                         {"pad_w", random_integer(random, 3)},
                         {"outside", 1}},
                        static_cast<int32_t>(random() % 1000));
  set_values(made, "feature", std::vector<float>(floats_of(made, "feature").size(), 1));
  return made;
}

// The number of coordinates of [0, extent) in the window of `kernel` coordinates from mask - pad on.
int64_t covered(int32_t mask, int pad, int kernel, int64_t extent) {
  const int64_t begin = int64_t{mask} - pad;
  return std::max<int64_t>(0, std::min(begin + kernel, extent) - std::max<int64_t>(begin, 0));
}

// A column of a feature of ones has a one for each pixel of its window inside the feature, and zeros else.
TEST(OpsMaskedIm2colForwardProperties, OnesCountCoverage) {
  constexpr int kRounds = 16;
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    const Case made = random_windows(random, kFloatingDtypes[round % 2]);
    const auto h = int32s_of(made, "mask_h_idx"), w = int32s_of(made, "mask_w_idx");
    const cases::Dims& feature = made.inputs[0].dims;
    const auto parameter = [&](const char* name) { return made.parameters.int32(name); };
    std::vector<int64_t> expected;
    for (size_t k = 0; k < h.size(); ++k) {
      expected.push_back(feature[1] * covered(h[k], parameter("pad_h"), parameter("kernel_h"), feature[2]) *
                         covered(w[k], parameter("pad_w"), parameter("kernel_w"), feature[3]));
    }
    const RandomTeam team(random);
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(std::to_string(round) + " " + text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      require(call.run());
      EXPECT_TRUE(call.intact());
      const std::vector<float> data_col = call.floats("data_col");
      std::vector<int64_t> found(h.size());
      for (size_t i = 0; i < data_col.size(); ++i) {
        ASSERT_TRUE(data_col[i] == 0 || data_col[i] == 1) << "element " << i;
        if (data_col[i] == 1) ++found[i % h.size()];
      }
      EXPECT_EQ(found, expected);
    }
  }
}

}  // namespace
}  // namespace mluop::test

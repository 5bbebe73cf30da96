// Properties of mluOpMaskedCol2imForward that need no oracle, on distinct masks.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/masked_col2im_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "support/random_problem.h"

namespace mluop::test {
namespace {

constexpr int kRounds = 8;

// T: uint16_t for half, uint32_t for float.
template <class T>
class OpsMaskedCol2imForwardProperties : public ::testing::Test {
 protected:
  // Elements are integers below 256, as bit patterns.
  std::vector<T> random_elements(int64_t count) {
    std::vector<T> elements;
    for (int64_t i = 0; i < count; ++i) elements.push_back(static_cast<T>(random() % 256));
    return elements;
  }

  MaskedCol2imInputs<T> random_problem() {
    const int height = random_size(random, 30), width = random_size(random, 50);
    const int masks = random_size(random, height * width);
    MaskedCol2imInputs<T> inputs{{random_size(random, 40), height, width, masks}, {}, {}, {}};
    inputs.col = random_elements(inputs.sizes.input_count());
    const std::vector<int32_t> pixels = random_permutation(height * width, random);
    for (size_t k = 0; k < static_cast<size_t>(masks); ++k) {
      inputs.mask_h_idx.push_back(pixels[k] / width);
      inputs.mask_w_idx.push_back(pixels[k] % width);
    }
    return inputs;
  }

  std::mt19937 random = seeded_random();
};

using Elements = ::testing::Types<uint16_t, uint32_t>;
TYPED_TEST_SUITE(OpsMaskedCol2imForwardProperties, Elements);

template <class T>
std::vector<T> col2im(const MaskedCol2imInputs<T>& inputs) {
  const Handle handle;
  const MaskedCol2imCall<T> call(handle, inputs);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.im_buffer.values();
}

// im2col at the masks of `inputs`, with a kernel of one pixel.
template <class T>
std::vector<T> im2col(const std::vector<T>& im, const MaskedCol2imInputs<T>& inputs) {
  const auto& s = inputs.sizes;
  const Handle handle;
  const MaskedIm2colCall<T> call(
      handle, {{s.channels, s.height, s.width, s.mask_cnt, 1, 1, 0, 0}, im, inputs.mask_h_idx, inputs.mask_w_idx});
  require(call.run());
  return call.data_col_buffer.values();
}

template <class T>
int64_t dot(const std::vector<T>& a, const std::vector<T>& b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), int64_t{0});
}

// The adjoint of masked im2col: <im2col(x), col> = <x, col2im(col)>.
TYPED_TEST(OpsMaskedCol2imForwardProperties, Adjoint) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const auto x = this->random_elements(inputs.sizes.output_count());
    const RandomTeam team(this->random);
    EXPECT_EQ(dot(im2col(x, inputs), inputs.col), dot(x, col2im(inputs)));
  }
}

TYPED_TEST(OpsMaskedCol2imForwardProperties, Im2colReturnsTheColumns) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const RandomTeam team(this->random);
    EXPECT_EQ(im2col(col2im(inputs), inputs), inputs.col);
  }
}

TYPED_TEST(OpsMaskedCol2imForwardProperties, APermutationOfMasksLeavesTheImage) {
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto inputs = this->random_problem();
    const size_t masks = inputs.mask_h_idx.size();
    const auto order = random_permutation(static_cast<int>(masks), this->random);
    auto moved = inputs;
    for (size_t k = 0; k < masks; ++k) {
      const auto source = static_cast<size_t>(order[k]);
      moved.mask_h_idx[k] = inputs.mask_h_idx[source];
      moved.mask_w_idx[k] = inputs.mask_w_idx[source];
      for (size_t row = 0; row < inputs.col.size(); row += masks) {
        moved.col[row + k] = inputs.col[row + source];
      }
    }
    const RandomTeam team(this->random);
    EXPECT_EQ(col2im(moved), col2im(inputs));
  }
}

}  // namespace
}  // namespace mluop::test

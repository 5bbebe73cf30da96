// Properties of mluOpMaskedCol2imForward that need no oracle, on distinct masks in any order.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/operator_call.h"
#include "support/random_problem.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kRounds = 16;

// Integers, whose products add exactly.
std::vector<float> random_elements(int64_t count, std::mt19937& random) {
  return random_integers<float>(static_cast<size_t>(count), random, 255);
}

Case random_problem(std::mt19937& random, mluOpDataType_t dtype) {
  const int height = random_size(random, 30), width = random_size(random, 50);
  const int masks = random_size(random, height * width), channels = random_size(random, 40);
  Case made = make_case("masked_col2im_forward", dtype,
                        {{"channels", channels}, {"height", height}, {"width", width}, {"mask_cnt", masks}});
  std::vector<int32_t> pixels = random_permutation(height * width, random), h, w;
  pixels.resize(static_cast<size_t>(masks));
  for (const int32_t pixel : pixels) {
    h.push_back(pixel / width);
    w.push_back(pixel % width);
  }
  set_values(made, "mask_h_idx", h);
  set_values(made, "mask_w_idx", w);
  set_values(made, "col", random_elements(int64_t{channels} * masks, random));
  return made;
}

std::vector<float> result_of(const Case& made, const char* output) {
  const Handle handle;
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.floats(output);
}

std::vector<float> col2im(const Case& made) { return result_of(made, "im"); }

// im2col at the masks of `made`, with a kernel of one pixel.
std::vector<float> im2col(const std::vector<float>& im, const Case& made) {
  const cases::Dims& image = made.outputs[0].dims;
  Case columns = make_case("masked_im2col_forward", made.outputs[0].dtype,
                           {{"channels", image[1]},
                            {"height", image[2]},
                            {"width", image[3]},
                            {"mask_cnt", made.inputs[1].dims[0]},
                            {"kernel_h", 1},
                            {"kernel_w", 1},
                            {"pad_h", 0},
                            {"pad_w", 0}});
  set_values(columns, "feature", im);
  for (const char* masks : {"mask_h_idx", "mask_w_idx"}) set_values(columns, masks, int32s_of(made, masks));
  return result_of(columns, "data_col");
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The adjoint of masked im2col: <im2col(x), col> = <x, col2im(col)>; and im2col(col2im(col)) = col.
TEST(OpsMaskedCol2imForwardProperties, AdjointAndInverse) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(random, kFloatingDtypes[round % 2]);
    const std::vector<float> col = floats_of(made, "col");
    const auto x = random_elements(cases::element_count(made.outputs[0]), random);
    const RandomTeam team(random);
    const std::vector<float> im = col2im(made);
    EXPECT_EQ(dot(im2col(x, made), col), dot(x, im));
    EXPECT_EQ(im2col(im, made), col);
  }
}

// The elements order[0], order[1], ... of each row.
template <class T>
std::vector<T> permuted(const std::vector<T>& rows, const std::vector<int32_t>& order) {
  std::vector<T> moved;
  for (size_t row = 0; row < rows.size(); row += order.size()) {
    for (const int32_t source : order) moved.push_back(rows[row + static_cast<size_t>(source)]);
  }
  return moved;
}

TEST(OpsMaskedCol2imForwardProperties, APermutationOfMasksLeavesTheImage) {
  auto random = seeded_random();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Case made = random_problem(random, kFloatingDtypes[round % 2]);
    const auto order = random_permutation(static_cast<int>(made.inputs[1].dims[0]), random);
    Case moved = made;
    set_values(moved, "mask_h_idx", permuted(int32s_of(made, "mask_h_idx"), order));
    set_values(moved, "mask_w_idx", permuted(int32s_of(made, "mask_w_idx"), order));
    set_values(moved, "col", permuted(floats_of(made, "col"), order));
    const RandomTeam team(random);
    EXPECT_EQ(col2im(moved), col2im(made));
  }
}

}  // namespace
}  // namespace mluop::test

// Operators on images with tensors of more than 2^31 elements: every element against the oracle.
#include <gtest/gtest.h>

#include <algorithm>

#include "large/large_call.h"
#include "support/values.h"

namespace mluop::test {
namespace {

// All rows that are not rows of the small case equal the first row.
TEST(LargeFocalLossSigmoidForward, Rows) {
  MLUOP_REQUIRE_MEMORY(9);
  LargeCall({.small = make_case("focal_loss_sigmoid_forward", MLUOP_DTYPE_HALF, {{"n", 40}, {"c", 90}}),
             .axes = {random_axis("row", 40, 23'861'000)},
             .large = {"input", "output"},
             .repeated = {"input", "target", "output"}})
      .expect_result();
}

// The other queries have weights of 0.
TEST(LargeMsDeformAttnForward, DataCol) {
  MLUOP_REQUIRE_MEMORY(9);
  LargeCall({.small = make_case("ms_deform_attn_forward", MLUOP_DTYPE_FLOAT,
                                {{"b", 1}, {"q", 40}, {"m", 1}, {"l", 1}, {"p", 1}, {"d", 600}}),
             .axes = {random_axis("query", 40, 3'579'200)},
             .large = {"data_col"}})
      .expect_result();
}

// The sums are exact. The first image and the images beyond the small case are 0: their output is the bias.
TEST(LargeDcnForward, Input) {
  MLUOP_REQUIRE_MEMORY(5);
  cases::Case small = with_values(make_case("dcn_forward", MLUOP_DTYPE_HALF,
                                            {{"n", 3},
                                             {"h", 20},
                                             {"w", 20},
                                             {"ci", 320},
                                             {"co", 1},
                                             {"kh", 1},
                                             {"kw", 1},
                                             {"groups", 1},
                                             {"deformable_groups", 1}}),
                                  Values::kIntegers, 1);
  auto input = floats_of(small, "input");
  std::fill_n(input.begin(), input.size() / 3, 0);
  set_values(small, "input", input);
  LargeCall(
      {.small = small, .axes = {random_axis("image", 3, 16'800)}, .large = {"input"}, .repeated = {"output"}})
      .expect_result();
}

}  // namespace
}  // namespace mluop::test

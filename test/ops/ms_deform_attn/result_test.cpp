// Multi-scale deformable attention: an example of the definitions, levels of every kind, and their rules.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "ms_deform_attn_forward";
constexpr const char* kBackward = "ms_deform_attn_backward";

// A level of 2 x 2 pixels, and three points: in the middle, at a corner, and outside.
Case make_example(const char* op, const std::string& prefix) {
  Case made = make_case(op, MLUOP_DTYPE_FLOAT,
                        {{"b", 1}, {"h", 2}, {"w", 2}, {"m", 1}, {"d", 1}, {"l", 1}, {"q", 1}, {"p", 3}});
  set_values(made, prefix + "value", std::vector<float>{1, 2, 4, 9});
  set_values(made, prefix + "sampling_loc", std::vector<float>{0.5F, 0.5F, 0, 0, 2, NAN});
  set_values(made, prefix + "attn_weight", std::vector<float>{3, 8, 5});
  return made;
}

TEST(OpsMsDeformAttn, WorkedExample) {
  const Handle handle;
  const OperatorCall forward(handle, make_example(kForward, "data_"));
  ASSERT_EQ(forward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(forward.floats("data_col"), (std::vector<float>{3 * 4 + 8 * 0.25F}));
  Case made = make_example(kBackward, "");
  set_values(made, "grad_output", std::vector<float>{2});
  const OperatorCall backward(handle, made);
  ASSERT_EQ(backward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(backward.floats("grad_value"), (std::vector<float>{1.5F + 4, 1.5F, 1.5F, 1.5F}));
  EXPECT_EQ(backward.floats("grad_attn_weight"), (std::vector<float>{8, 0.5F, 0}));
  // At the corner, both derivatives are differences between the pixel and the zeros around it.
  EXPECT_EQ(backward.floats("grad_sampling_loc"), (std::vector<float>{36, 60, 16, 16, 0, 0}));
}

TEST(OpsMsDeformAttn, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const std::map<std::string, int64_t> sizes[] = {
      {{"h", 1}, {"w", 1}, {"l", 4}},           // levels without pixels
      {{"d", 33}, {"m", 1}, {"q", 70}},         // whole vectors and one channel
      {{"p", 40}, {"l", 4}, {"d", 5}},          // many samples
      {{"h", 40}, {"w", 1}, {"d", 16}},         // one column
      {{"b", 6}, {"im2col_step", 6}, {"m", 8}}  // more heads than threads
  };
  for (const char* op : {kForward, kBackward}) {
    for (const auto& each : sizes) expect_oracle_everywhere(make_case(op, MLUOP_DTYPE_FLOAT, each));
  }
}

// The gradients of a key have the order of queries, not of levels.
TEST(OpsMsDeformAttn, LevelsThatShareKeys) {
  Case made = make_case(kBackward, MLUOP_DTYPE_FLOAT, {{"q", 300}, {"l", 3}, {"d", 16}, {"m", 1}, {"b", 1}});
  set_values(made, "level_start_index", std::vector<int32_t>{0, 0, 0});
  expect_oracle_everywhere(made);
  std::vector<std::vector<float>> found;
  for (const int count : {1, 64}) {
    const ScopedThreads threads(count);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    found.push_back(call.floats("grad_value"));
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(OpsMsDeformAttn, WithoutSamples) {
  for (const char* op : {kForward, kBackward}) {
    for (const char* size : {"l", "p"}) expect_oracle(make_case(op, MLUOP_DTYPE_FLOAT, {{size, 0}}));
  }
}

TEST(OpsMsDeformAttnErrors, Levels) {
  for (const std::string op : {kForward, kBackward}) {
    const std::string prefix = op == kForward ? "data_" : "", shapes = prefix + "spatial_shapes",
                      starts = prefix + "level_start_index";
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set_element(shapes, 1, -1), shapes + "[0, 1] is -1, expected at least 0"},
         {set_element(starts, 1, 43), starts + "[1] is 43, expected 0 to 42: the level has 9 of 51 keys"},
         {set_element(starts, 0, -1), starts + "[0] is -1, expected 0 to 9: the level has 42 of 51 keys"},
         {set("im2col_step", 0), "im2col_step is 0, expected at least 1"},
         {with_sizes(op, {{"d", 0}}), prefix + "value dim 3 is 0, expected at least 1"},
         {with_sizes(op, {{"q", 0}}), prefix + "sampling_loc dim 1 is 0, expected at least 1"}});
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 4}}),
        {{set("im2col_step", 3), "im2col_step is 3, expected a divisor of the batch size 4, or a larger number"}});
  }
}

}  // namespace
}  // namespace mluop::test

// Bezier align: worked examples, horizontal text, samples at the border, and errors. test/ops/contract_test.cpp
// has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

// A RoI of 2 x `pw` bins on a map of 4 x 4, whose pixel i is the square of i; spatial_scale is 1.
cases::Case make_text(const char* op, int64_t pw, int64_t aligned, int64_t ratio,
                      const std::vector<float>& points) {
  cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT,
                               {{"b", 1},
                                {"h", 4},
                                {"w", 4},
                                {"c", 1},
                                {"r", 1},
                                {"ph", 2},
                                {"pw", pw},
                                {"aligned", aligned},
                                {"sampling_ratio", ratio}});
  made.parameters.set_real("spatial_scale", 1);
  std::vector<float> roi = {0};
  roi.insert(roi.end(), points.begin(), points.end());
  set_values(made, "rois", roi);
  if (made.inputs[0].id == "input") {
    std::vector<float> squares;
    for (int i = 0; i < 16; ++i) squares.push_back(static_cast<float>(i * i));
    set_values(made, "input", squares);
  }
  return made;
}

const std::vector<float> kCurved = {0, .5F, 1, 0, 2, 0, 3, .5F, 3, 2.5F, 2, 2, 1, 2, 0, 2.5F};
const std::vector<float> kHorizontal = {0, 0, 1, 0, 2, 0, 3, 0, 3, 3, 2, 3, 1, 3, 0, 3};

void expect_result(const cases::Case& made, const std::vector<float>& expected) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const std::vector<float> found = call.floats(made.outputs[0].id);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
}

TEST(OpsBezierAlign, Example) {
  expect_result(make_text("bezier_align_forward", 3, 0, 1, kCurved),
                {8, 5, 9.3333333F, 40, 34.3333333F, 46.6666667F});
}

// Without a sampling ratio, text whose curves have ends at equal heights has no samples.
TEST(OpsBezierAlign, HorizontalText) {
  expect_result(make_text("bezier_align_forward", 2, 1, 0, kHorizontal), {0, 0, 0, 0});
  expect_result(make_text("bezier_align_forward", 2, 1, 1, kHorizontal), {0, 1, 16, 25});
  cases::Case backward = make_text("bezier_align_backward", 2, 1, 1, kHorizontal);
  set_values(backward, "grad_output", std::vector<float>{1, 2, 4, 8});
  expect_result(backward, {1, 2, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

// All points at NaN: NaN in the output, no gradient.
TEST(OpsBezierAlign, CoordinatesThatAreNan) {
  const std::vector<float> points(16, std::numeric_limits<float>::quiet_NaN());
  const Handle handle;
  const OperatorCall call(handle, make_text("bezier_align_forward", 1, 1, 1, points));
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  for (const float value : call.floats("output")) EXPECT_TRUE(std::isnan(value));
  expect_result(make_text("bezier_align_backward", 1, 1, 1, points), std::vector<float>(16));
}

TEST(OpsBezierAlignErrors, Parameters) {
  for (const char* op : {"bezier_align_forward", "bezier_align_backward"}) {
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set("aligned_height", -1), "aligned_height is -1, expected at least 0"},
         {set("aligned_width", -2), "aligned_width is -2, expected at least 0"},
         {set("sampling_ratio", 65), "sampling_ratio is 65, expected at most 64", MLUOP_STATUS_NOT_SUPPORTED},
         {set_element("rois", 17, 2), "rois[1, 0] is 2, expected 0 to 1"},
         {set_element("rois", 0, -1), "rois[0, 0] is -1, expected 0 to 1"}});
  }
}

}  // namespace
}  // namespace mluop::test

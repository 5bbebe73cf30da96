// Rotated feature align: worked examples. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

// 4 x 4 pixels with the same box (8, 12, 16, 8, pi / 6) each, and a scale of 1/8: the center is (1, 1.5).
cases::Case same_boxes(const char* op, int64_t points) {
  cases::Case made =
      make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"c", 1}, {"h", 4}, {"w", 4}, {"points", points == 5}});
  made.parameters.set_real("spatial_scale", 0.125);
  std::vector<float> boxes;
  for (int i = 0; i < 16; ++i) boxes.insert(boxes.end(), {8, 12, 16, 8, static_cast<float>(M_PI / 6)});
  set_values(made, "bboxes", boxes);
  return made;
}

TEST(OpsRotatedFeatureAlign, Examples) {
  std::vector<float> squares;
  for (int i = 0; i < 16; ++i) squares.push_back(static_cast<float>(i * i));
  for (const int64_t points : {1, 5}) {
    cases::Case made = same_boxes("rotated_feature_align_forward", points);
    set_values(made, "input", squares);
    expect_oracle(made);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const std::vector<float> output = call.floats("output");
    EXPECT_NEAR(output[0], points == 1 ? 30.5 : 197.82050808, 1e-3);
    if (points == 1) {
      EXPECT_EQ(output[11], 151.5F);
    }
  }
}

TEST(OpsRotatedFeatureAlign, GradientExample) {
  cases::Case made = same_boxes("rotated_feature_align_backward", 1);
  std::vector<float> grad(16), expected(16);
  grad[15] = 1;
  set_values(made, "top_output", grad);
  expected[15] = 1;
  expected[5] = expected[6] = 0.5F;
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("bottom_input"), expected);
}

TEST(OpsRotatedFeatureAlignErrors, Parameters) {
  for (const char* op : {"rotated_feature_align_forward", "rotated_feature_align_backward"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}), {{set("points", 4), "points is 4, expected 1 or 5"}});
  }
}

}  // namespace
}  // namespace mluop::test

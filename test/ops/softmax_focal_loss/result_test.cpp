// Softmax focal loss: an example of the definition, its limits, and its errors. test/ops/contract_test.cpp has the
// tests of every operator.
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "softmax_focal_loss_forward";
constexpr const char* kBackward = "softmax_focal_loss_backward";

// Rows of two classes; the second probability follows from the first.
std::vector<float> computed(const char* op, const char* output, const std::vector<float>& first,
                            const std::vector<int32_t>& targets, double gamma) {
  Case made =
      make_case(op, MLUOP_DTYPE_FLOAT, {{"n", static_cast<int64_t>(targets.size())}, {"c", 2}, {"weighted", 0}});
  std::vector<float> softmax;
  for (const float p : first) softmax.insert(softmax.end(), {p, 1 - p});
  set_values(made, "softmax", softmax);
  set_values(made, "target", targets);
  made.parameters.set_real("alpha", 0.5);
  made.parameters.set_real("gamma", gamma);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(output);
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-6 * std::max(1.0, std::abs(expected[i]))) << i;
}

// Targets of probability 1/4 and 1/2, a row without class, the limits 0 and 1, and numbers beyond them.
TEST(OpsSoftmaxFocalLoss, WorkedExample) {
  const std::vector<float> first = {0.25F, 0.5F, 0.5F, 0, 1, -1, 2};
  const std::vector<int32_t> targets = {0, 1, -1, 0, 0, 0, 0};
  const double log4 = std::log(4.0), log2 = std::log(2.0), most = 126 * log2;
  expect_near(computed(kForward, "output", first, targets, 2),
              {9 * log4 / 32, log2 / 8, 0, most / 2, 0, most / 2, 0});
  const double a = -(3 * log4 + 4.5) / 16, b = -(2 * log2 + 1) / 8;
  expect_near(computed(kBackward, "buff", first, targets, 2), {a, b, 0, -0.5, 0, -0.5, 0});
  const std::vector<float> grads = computed(kBackward, "grad_input", first, targets, 2);
  expect_near({grads.begin(), grads.begin() + 8}, {0.75 * a, -0.75 * a, -b / 2, b / 2, 0, 0, -0.5, 0.5});
  expect_near(computed(kBackward, "buff", {1, 1}, {0, -1}, 0.5), {0, 0});
  expect_near(computed(kBackward, "buff", {1, 1}, {0, -1}, 0), {-0.5, 0});
}

TEST(OpsSoftmaxFocalLossErrors, Arguments) {
  for (const std::string op : {kForward, kBackward}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set_element("target", 7, 9), "target[7] is 9, expected -1 to 8"},
                   {all_of({set_element("target", 8, 99), set_element("target", 3, -2)}),
                    "target[3] is -2, expected -1 to 8"},
                   {set_real("gamma", -0.5), "gamma is -0.5, expected 0 to 10000"},
                   {set_real("gamma", 10001), "gamma is 10001, expected 0 to 10000"},
                   {set_real("gamma", std::nan("")), "gamma is nan, expected 0 to 10000"}});
  }
}

}  // namespace
}  // namespace mluop::test

// Mutual information: worked example, NaN, shares that overflow, and rules. test/ops/contract_test.cpp has the
// tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

using ::testing::ElementsAre;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

void expect_success(const OperatorCall& call) {
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsMutualInformation, Examples) {
  cases::Case made = make_case("mutual_information_forward", kFloat, {{"b", 1}, {"s", 2}, {"t", 3}});
  set_values(made, "px", std::vector<float>{-0.5F, -1, -1.5F, -2, -1, -0.5F, -2, -1.5F});
  set_values(made, "py", std::vector<float>{-0.2F, -0.4F, -0.6F, -0.3F, -0.5F, -0.7F, -0.1F, -0.2F, -0.3F});
  const Handle handle;
  OperatorCall call(handle, made);
  expect_success(call);
  EXPECT_NEAR(call.floats("ans")[0], -0.6356742, 1e-6);
  for (const size_t begin : {0, 1}) set_element("opt_boundary", begin, 1)(call);
  expect_success(call);
  EXPECT_NEAR(call.floats("ans")[0], -0.7013911, 1e-6);
}

// The last cell: NaN of the step along s propagates, NaN of the step along t does not.
TEST(OpsMutualInformation, NaN) {
  cases::Case made =
      make_case("mutual_information_forward", kFloat, {{"b", 2}, {"s", 1}, {"t", 1}, {"bounded", 0}});
  set_values(made, "px", std::vector<float>{-0.25F, kNaN, -0.25F, -1});
  set_values(made, "py", std::vector<float>{-0.5F, -1, -0.5F, kNaN});
  const Handle handle;
  const OperatorCall call(handle, made);
  expect_success(call);
  EXPECT_THAT(call.floats("ans"), ElementsAre(::testing::IsNan(), -1.5F));
}

TEST(OpsMutualInformation, SharesThatOverflow) {
  cases::Case made =
      make_case("mutual_information_backward", kFloat, {{"b", 1}, {"s", 0}, {"t", 3}, {"bounded", 0}});
  set_values(made, "py", std::vector<float>{89, kInfinity, 0});
  set_values(made, "p", std::vector<float>{0, 0, -kInfinity, -kInfinity});
  set_values(made, "ans_grad", std::vector<float>{2});
  const Handle handle;
  const OperatorCall call(handle, made);
  expect_success(call);
  EXPECT_THAT(call.floats("py_grad"), ElementsAre(0, 0, 2));
  EXPECT_THAT(call.floats("ans_grad"), ElementsAre(0));
}

TEST(OpsMutualInformation, Errors) {
  const std::string expected = "expected begins of at least 0 and ends of at most 2 and 3";
  for (const char* op : {"mutual_information_forward", "mutual_information_backward"}) {
    const cases::Case made = make_case(op, kFloat, {{"b", 1}, {"s", 2}, {"t", 3}});
    expect_errors(made, {{set_element("opt_boundary", 0, -1), "opt_boundary[0] is [-1, 0, 2, 3], " + expected},
                         {set_element("opt_boundary", 1, -2), "opt_boundary[0] is [0, -2, 2, 3], " + expected},
                         {set_element("opt_boundary", 2, 3), "opt_boundary[0] is [0, 0, 3, 3], " + expected},
                         {set_element("opt_boundary", 3, 4), "opt_boundary[0] is [0, 0, 2, 4], " + expected}});
    const std::string message = "px dim 2 is 3, expected 4";
    expect_errors(made,
                  {{set_shape("px", {1, 2, 3}), message + "; the modified recursion of k2 is not supported",
                    MLUOP_STATUS_NOT_SUPPORTED},
                   {set_shape("px", {1, 2, 5}), "px dim 2 is 5, expected 4"},
                   {all_of({set_shape("px", {1, 2, 3}), set_shape("p", {1, 3, 5})}), message}},
                  {.query = Query::kFails});
  }
}

}  // namespace
}  // namespace mluop::test

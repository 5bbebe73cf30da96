// Active rotated filter: a worked example, targets that repeat, and errors. test/ops/contract_test.cpp has the
// tests of every operator.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

// A filter of 3 x 3 and three rotations by 45 degrees: columns of the table of ORConv2d.
const std::vector<int32_t> kTable = {1, 2, 3, 2, 3, 6, 3, 6, 9, 4, 1, 2, 5, 5,
                                     5, 6, 9, 8, 7, 4, 1, 8, 7, 4, 9, 8, 7};

cases::Case make_filter(const char* op) {
  return make_case(op, MLUOP_DTYPE_FLOAT, {{"o", 1}, {"i", 1}, {"n", 1}, {"kh", 3}, {"kw", 3}, {"r", 3}});
}

std::vector<float> result_of(const cases::Case& made, const char* output) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(output);
}

TEST(OpsActiveRotatedFilter, Example) {
  cases::Case forward = make_filter("active_rotated_filter_forward");
  set_values(forward, "input", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  set_values(forward, "indices", kTable);
  const std::vector<float> rotated = {1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 1, 2, 7, 5,
                                      3, 8, 9, 6, 7, 4, 1, 8, 5, 2, 9, 6, 3};
  EXPECT_EQ(result_of(forward, "output"), rotated);
  cases::Case backward = make_filter("active_rotated_filter_backward");
  set_values(backward, "grad_output", rotated);
  set_values(backward, "indices", kTable);
  EXPECT_EQ(result_of(backward, "grad_input"), (std::vector<float>{3, 6, 9, 12, 15, 18, 21, 24, 27}));
}

// The last of several entries determines a target; others are 0. Each entry has the gradient of the target.
TEST(OpsActiveRotatedFilter, RepeatedTargets) {
  cases::Case forward = make_filter("active_rotated_filter_forward");
  set_values(forward, "input", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  set_values(forward, "indices", std::vector<int32_t>(27, 4));
  std::vector<float> expected(27);
  for (const size_t i : {3, 12, 21}) expected[i] = 9;
  EXPECT_EQ(result_of(forward, "output"), expected);
  cases::Case backward = make_filter("active_rotated_filter_backward");
  set_values(backward, "grad_output", expected);
  set_values(backward, "indices", std::vector<int32_t>(27, 4));
  EXPECT_EQ(result_of(backward, "grad_input"), std::vector<float>(9, 27));
}

TEST(OpsActiveRotatedFilterErrors, Indices) {
  for (const char* op : {"active_rotated_filter_forward", "active_rotated_filter_backward"}) {
    expect_errors(make_filter(op),
                  {{set_element("indices", 0, 0), "indices[0, 0, 0, 0] is 0, expected 1 to 9"},
                   {set_element("indices", 17, 10), "indices[0, 1, 2, 2] is 10, expected 1 to 9"},
                   {set_element("indices", 26, INT_MIN), "indices[0, 2, 2, 2] is -2147483648, expected 1 to 9"}});
  }
}

// The operator needs no workspace, but checks a workspace that is passed.
TEST(OpsActiveRotatedFilterErrors, Workspace) {
  const auto null_workspace = [](OperatorCall& call) { call.arguments.workspace_size = 1; };
  expect_errors(make_filter("active_rotated_filter_forward"), {{null_workspace, "workspace is null"}},
                {.query = Query::kSucceeds});
}

}  // namespace
}  // namespace mluop::test

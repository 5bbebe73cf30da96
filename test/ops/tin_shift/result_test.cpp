// TIN shift: a worked example, the gradient of MLU-OPS, shifts of any size, and errors. test/ops/contract_test.cpp
// has the tests of every operator.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

// A video of four frames, with two groups of a channel of a pixel.
cases::Case make_video(const char* op, const std::vector<int32_t>& shifts) {
  cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"n", 1}, {"t", 4}, {"g", 2}, {"c", 1}, {"l", 1}});
  set_values(made, made.inputs[0].id, std::vector<float>{1, 10, 2, 20, 3, 30, 4, 40});
  set_values(made, "shifts", shifts);
  return made;
}

std::vector<float> shifted(const char* op, const std::vector<int32_t>& shifts) {
  const cases::Case made = make_video(op, shifts);
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(made.outputs[0].id);
}

TEST(OpsTinShift, Example) {
  const std::vector<float> expected = {0, 30, 1, 40, 2, 0, 3, 0};
  EXPECT_EQ(shifted("tin_shift_forward", {1, -2}), expected);
  // Not the transpose, {2, 0, 3, 0, 4, 10, 0, 20}, which is the forward shift by the negated numbers.
  EXPECT_EQ(shifted("tin_shift_backward", {1, -2}), expected);
  EXPECT_EQ(shifted("tin_shift_forward", {-1, 2}), (std::vector<float>{2, 0, 3, 0, 4, 10, 0, 20}));
}

TEST(OpsTinShift, ShiftsOfAnySize) {
  for (const char* op : {"tin_shift_forward", "tin_shift_backward"}) {
    EXPECT_EQ(shifted(op, {4, -4}), std::vector<float>(8));
    EXPECT_EQ(shifted(op, {INT_MAX, INT_MIN}), std::vector<float>(8));
    EXPECT_EQ(shifted(op, {3, -3}), (std::vector<float>{0, 40, 0, 0, 0, 0, 1, 0}));
  }
}

TEST(OpsTinShiftErrors, Groups) {
  for (const char* op : {"tin_shift_forward", "tin_shift_backward"}) {
    const cases::Case made = make_video(op, {1, 2});
    const std::string of_input = ", expected a divisor of " + made.inputs[0].id + " dim 2, which is 2";
    expect_errors(made, {{set_shape("shifts", {1, 3}), "shifts dim 1 is 3" + of_input},
                         {set_shape("shifts", {1, 0}), "shifts dim 1 is 0" + of_input}});
  }
}

}  // namespace
}  // namespace mluop::test

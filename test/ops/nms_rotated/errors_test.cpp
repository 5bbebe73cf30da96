// Requirements of mluOpNmsRotated and its workspace query on the sizes.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "nms_rotated";

Change without_data(const char* tensor) {
  return [=](OperatorCall& call) { call[tensor].data = nullptr; };
}

// The rules shared by the operator and its query.
TEST(OpsNmsRotatedErrors, Sizes) {
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {}),
                {{set_shape("boxes", {100, 4}), "boxes dim 1 is 4, expected 5, or 6 with labels"},
                 {set_shape("boxes", {100, 7}), "boxes dim 1 is 7, expected 5, or 6 with labels"},
                 {set_shape("boxes", {100, 0}), "boxes dim 1 is 0, expected 5, or 6 with labels"},
                 {set_shape("boxes", {int64_t{1} << 31, 5}), "boxes dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
}

// Without boxes the call writes result_num and reads no data.
TEST(OpsNmsRotatedErrors, NoBoxes) {
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {{"n", 0}});
  const Handle handle;
  OperatorCall call(handle, made);
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* id : {"boxes", "scores", "output"}) without_data(id)(call);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("result_num"), std::vector<int32_t>{0});
  EXPECT_TRUE(call.intact());
  expect_errors(made, {{without_data("result_num"), "result_num is null, expected the data of a tensor [1]"}});
}

}  // namespace
}  // namespace mluop::test

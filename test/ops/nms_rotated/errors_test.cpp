// Requirements of mluOpNmsRotated, mluOpOmpNmsQuadri, mluOpPolyNms and their workspace queries on the sizes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

Change without_data(const char* tensor) {
  return [=](OperatorCall& call) { call[tensor].data = nullptr; };
}

// The rules shared by an operator and its query.
TEST(OpsNmsRotatedErrors, Sizes) {
  const struct {
    const char* op;
    int64_t columns;
    const char* expected;
  } kTable[] = {
      {"nms_rotated", 5, "5, or 6 with labels"}, {"nms_quadri", 8, "8, or 9 with labels"}, {"poly_nms", 9, "9"}};
  for (const auto& [op, columns, expected] : kTable) {
    const auto message = [expected = std::string(expected)](int64_t found) {
      return "boxes dim 1 is " + std::to_string(found) + ", expected " + expected;
    };
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set_shape("boxes", {100, columns - 1}), message(columns - 1)},
                   {set_shape("boxes", {100, columns + 2}), message(columns + 2)},
                   {set_shape("boxes", {100, 0}), message(0)},
                   {set_shape("boxes", {int64_t{1} << 31, columns}),
                    "boxes dim 0 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}},
                  {.query = Query::kFails});
  }
}

// Without boxes the call writes the number of kept boxes and reads no data.
TEST(OpsNmsRotatedErrors, NoBoxes) {
  for (const char* op : {"nms_rotated", "nms_quadri", "poly_nms"}) {
    const cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"n", 0}});
    const std::string number = made.outputs[1].id;
    const Handle handle;
    OperatorCall call(handle, made);
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    for (const cases::Tensor& input : made.inputs) without_data(input.id.c_str())(call);
    without_data("output")(call);
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s(number), std::vector<int32_t>{0});
    EXPECT_TRUE(call.intact());
    expect_errors(made, {{without_data(number.c_str()), number + " is null, expected the data of a tensor [1]"}});
  }
}

}  // namespace
}  // namespace mluop::test

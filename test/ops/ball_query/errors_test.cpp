// Requirements of mluOpBallQuery on its scalars and sizes.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "ball_query";

TEST(OpsBallQueryErrors, ScalarsAndSizes) {
  // new_xyz is [2, 32, 3], xyz is [2, 200, 3], idx is [2, 32, 16].
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {}),
                {
                    {set_real("min_radius", -0.5), "min_radius is -0.5, expected at least 0"},
                    {set_real("max_radius", -1), "max_radius is -1, expected at least 0"},
                    {set_real("min_radius", kNan), "min_radius is nan, expected at least 0"},
                    {set_real("max_radius", kNan), "max_radius is nan, expected at least 0"},
                    {set("nsample", -1), "nsample is -1, expected at least 0"},
                    {set("nsample", 3), "idx dim 2 is 16, expected nsample, which is 3"},
                    {set_shape("idx", {2, 32, 0}), "idx dim 2 is 0, expected nsample, which is 16"},
                    {with_sizes(kOp, {{"b", 0}}), "new_xyz dim 0 is 0, expected at least 1"},
                    {with_sizes(kOp, {{"m", 0}}), "new_xyz dim 1 is 0, expected at least 1"},
                    {set_shape("xyz", {2, int64_t{1} << 31, 3}),
                     "xyz dim 1 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
                });
}

// Without points or samples the call reads no data and leaves idx unchanged.
TEST(OpsBallQueryErrors, NothingToDo) {
  for (const char* size : {"n", "nsample"}) {
    const Handle handle;
    OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{size, 0}}));
    const auto before = call.contents();
    call["new_xyz"].data = call["xyz"].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.contents() == before);
    set_real("max_radius", -1)(call);
    EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  }
}

}  // namespace
}  // namespace mluop::test

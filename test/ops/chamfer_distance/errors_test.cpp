// Requirements of the functions of the chamfer distance on sizes and indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr int64_t kPoints = int64_t{1} << 31;

TEST(OpsChamferDistanceErrors, Sizes) {
  for (const char* op : {"chamfer_distance_forward", "chamfer_distance_backward"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set_shape("xyz1", {2, kPoints, 2}), "xyz1 dim 1 is 2147483648, expected fewer than 2^31",
                    MLUOP_STATUS_NOT_SUPPORTED},
                   {set_shape("xyz2", {2, kPoints, 2}), "xyz2 dim 1 is 2147483648, expected fewer than 2^31",
                    MLUOP_STATUS_NOT_SUPPORTED}});
  }
}

TEST(OpsChamferDistanceErrors, Indices) {
  expect_errors(make_case("chamfer_distance_backward", MLUOP_DTYPE_FLOAT, {{"b", 2}, {"n", 60}, {"m", 45}}),
                {{set_element("idx1", 61, 45), "idx1[1, 1] is 45, expected 0 to 44"},
                 {set_element("idx2", 44, -1), "idx2[0, 44] is -1, expected 0 to 59"}});
}

// Without points on the other side, the indices are not used.
TEST(OpsChamferDistanceErrors, IndicesOfNoPoints) {
  const Handle handle;
  OperatorCall call(handle, make_case("chamfer_distance_backward", MLUOP_DTYPE_FLOAT, {{"m", 0}}));
  set_element("idx1", 3, -7)(call);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.floats("grad_xyz1"), ::testing::Each(0.0F));
}

}  // namespace
}  // namespace mluop::test

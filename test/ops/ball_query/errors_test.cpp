// What mluOpBallQuery requires of its scalars and sizes, and what it accepts.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kOp = "ball_query";

// new_xyz is [2, 32, 3], xyz is [2, 200, 3], idx is [2, 32, 16].
Case valid_case() { return make_case(kOp, MLUOP_DTYPE_FLOAT, {}); }

TEST(OpsBallQueryErrors, ScalarsAndSizes) {
  const auto last_of_idx = [](OperatorCall& call) {
    const cases::Operand& idx = call["idx"];
    call["xyz"].data = idx.data + idx.bytes() - 1;
  };
  expect_errors(valid_case(),
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
                    {last_of_idx, "idx overlaps xyz, expected memory of its own"},
                });
}

// The operator runs on every device.
TEST(OpsBallQueryErrors, Devices) {
  const Case made = valid_case();
  for (const char* name : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment device("MLUOP_OMP_DEVICE", name);
    expect_oracle(made);
  }
}

TEST(OpsBallQueryErrors, AnyLayout) {
  const Case made = valid_case();
  const Handle handle;
  OperatorCall call(handle, made);
  set_desc("new_xyz", Descriptor(MLUOP_DTYPE_FLOAT, {2, 32, 3}, MLUOP_LAYOUT_NLC))(call);
  set_desc("xyz", Descriptor(MLUOP_DTYPE_FLOAT, {2, 200, 3}, MLUOP_LAYOUT_NTC))(call);
  set_desc("idx", Descriptor(MLUOP_DTYPE_INT32, {2, 32, 16}, MLUOP_LAYOUT_NCHW))(call);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
}

// Without points or samples the call reads nothing and leaves idx unchanged.
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

// Inputs may overlap: the centers are usually some of the points.
TEST(OpsBallQueryErrors, CentersInPoints) {
  Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 90}, {"n", 90}});
  set_values(made, "new_xyz", floats_of(made, "xyz"));
  const Handle handle;
  OperatorCall call(handle, made);
  call["new_xyz"].data = call["xyz"].data;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
}

}  // namespace
}  // namespace mluop::test

// Requirements of mluOpThreeNNForward and its workspace query on sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "three_nn_forward";

// unknown is [2, 64, 3], known is [2, 32, 3]: a call in float that needs no workspace.
cases::Case valid_case() { return make_case(kOp, MLUOP_DTYPE_FLOAT, {}); }

TEST(OpsThreeNNForwardErrors, Sizes) {
  constexpr int64_t kPoints = int64_t{1} << 31;
  expect_errors(valid_case(),
                {{set_shape("known", {2, kPoints, 3}), "known dim 1 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
  expect_errors(valid_case(), {{with_sizes(kOp, {{"b", 0}}), "unknown dim 0 is 0, expected at least 1"},
                               {with_sizes(kOp, {{"n", 0}}), "unknown dim 1 is 0, expected at least 1"}});
}

// Checks of the known points in the query.
TEST(OpsThreeNNForwardErrors, Query) {
  const struct {
    Descriptor known;
    std::string message;
  } kRows[] = {
      {Descriptor(MLUOP_DTYPE_FLOAT, {0, 9, 3}), "known dim 0 is 0, expected at least 1"},
      {Descriptor(MLUOP_DTYPE_INT32, {2, 9, 3}), "known has data type INT32, expected FLOAT, HALF or BFLOAT16"},
      // The known points fit int64_t, the workspace of 7 2^60 bytes does not.
      {Descriptor(MLUOP_DTYPE_FLOAT, {300'000'000, (int64_t{1} << 31) - 1, 3}),
       "the size in bytes of scratch buffer blocks "},
  };
  const Handle handle;
  for (const auto& [known, message] : kRows) {
    OperatorCall call(handle, valid_case());
    call["known"].desc = known;
    size_t bytes = 7;
    EXPECT_EQ(call.op().query(call.arguments, &bytes), MLUOP_STATUS_BAD_PARAM);
    EXPECT_THAT(mluOpOmpGetLastError(), ::testing::StartsWith("[mluOpGetThreeNNForwardWorkspaceSize] " + message));
    EXPECT_EQ(bytes, 7U);
  }
}

// Without known points, their data and the workspace may be null; the outputs are written.
TEST(OpsThreeNNForwardErrors, NoKnownPoints) {
  const Handle handle;
  OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_HALF, {{"n", 50}, {"m", 0}}));
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  call["known"].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.floats("dist2"), ::testing::Each(std::numeric_limits<float>::infinity()));
  EXPECT_THAT(call.int32s("idx"), ::testing::Each(0));
}

}  // namespace
}  // namespace mluop::test

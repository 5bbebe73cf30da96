// What mluOpThreeNNForward and its workspace query require of sizes and of the workspace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kOp = "three_nn_forward";

// unknown is [2, 64, 3], known is [2, 32, 3]: a call in float that needs no workspace.
Case valid_case() { return make_case(kOp, MLUOP_DTYPE_FLOAT, {}); }

TEST(OpsThreeNNForwardErrors, Sizes) {
  constexpr int64_t kPoints = int64_t{1} << 31;
  expect_errors(valid_case(),
                {{set_shape("known", {2, kPoints, 3}), "known dim 1 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
  expect_errors(valid_case(), {{with_sizes(kOp, {{"b", 0}}), "unknown dim 0 is 0, expected at least 1"},
                               {with_sizes(kOp, {{"n", 0}}), "unknown dim 1 is 0, expected at least 1"}});
}

void expect_query_failure(const OperatorCall& call, size_t* workspace_size,
                          const ::testing::Matcher<std::string>& message) {
  mluOpSetQueue(nullptr, nullptr);  // replaces the last error
  EXPECT_EQ(call.op().query(call.arguments, workspace_size), MLUOP_STATUS_BAD_PARAM);
  EXPECT_THAT(mluOpOmpGetLastError(), message);
}

TEST(OpsThreeNNForwardErrors, Query) {
  const Handle handle;
  OperatorCall call(handle, valid_case());
  size_t bytes = 7;
  expect_query_failure(call, nullptr, "[mluOpGetThreeNNForwardWorkspaceSize] workspace_size is null");
  set_shape("known", {0, 9, 3})(call);
  expect_query_failure(call, &bytes,
                       "[mluOpGetThreeNNForwardWorkspaceSize] known dim 0 is 0, expected at least 1");
  set_desc("known", Descriptor(MLUOP_DTYPE_INT32, {2, 9, 3}))(call);
  expect_query_failure(call, &bytes,
                       "[mluOpGetThreeNNForwardWorkspaceSize] known has data type INT32, expected FLOAT or HALF");
  // The known points fit int64_t, the workspace of 7 2^60 bytes does not.
  set_desc("known", Descriptor(MLUOP_DTYPE_FLOAT, {300'000'000, (int64_t{1} << 31) - 1, 3}))(call);
  expect_query_failure(call, &bytes,
                       ::testing::StartsWith("[mluOpGetThreeNNForwardWorkspaceSize] the size in bytes of scratch "
                                             "buffer blocks "));
  EXPECT_EQ(bytes, 7U);
}

TEST(OpsThreeNNForwardErrors, Data) {
  const auto last_of_output = [](OperatorCall& call) {
    const cases::Operand& output = call["dist2"];
    call["known"].data = output.data + output.bytes() - 1;
  };
  const auto null_workspace_of_a_size = [](OperatorCall& call) { call.arguments.workspace_size = 1; };
  const auto unused_workspace_in_output = [](OperatorCall& call) {
    call.arguments.workspace = call["dist2"].data + 20;
    call.arguments.workspace_size = 1;
  };
  expect_errors(valid_case(),
                {
                    {last_of_output, "dist2 overlaps known, expected memory of its own"},
                    {null_workspace_of_a_size, "workspace is null"},
                    {unused_workspace_in_output, "dist2 overlaps workspace, expected memory of its own"},
                },
                {.query = Query::kSucceeds});
}

TEST(OpsThreeNNForwardErrors, WorkspaceOfATree) {
  const Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"n", 5600}, {"m", 3000}});
  const size_t needed = OperatorCall(Handle(), made).arguments.workspace_size;
  ASSERT_GT(needed, 0U);
  const auto set_workspace = [](bool is_null, size_t bytes) {
    return [=](OperatorCall& call) {
      if (is_null) call.arguments.workspace = nullptr;
      call.arguments.workspace_size = bytes;
    };
  };
  const std::string expected = ", expected at least " + std::to_string(needed);
  expect_errors(
      made,
      {
          {set_workspace(true, needed), "workspace is null"},
          {set_workspace(true, 0), "workspace_size is 0" + expected},
          {set_workspace(false, needed - 1), "workspace_size is " + std::to_string(needed - 1) + expected},
      },
      {.query = Query::kSucceeds});
}

TEST(OpsThreeNNForwardErrors, AnyLayout) {
  const Case made = valid_case();
  const Handle handle;
  OperatorCall call(handle, made);
  set_desc("unknown", Descriptor(MLUOP_DTYPE_FLOAT, {2, 64, 3}, MLUOP_LAYOUT_NLC))(call);
  set_desc("known", Descriptor(MLUOP_DTYPE_FLOAT, {2, 32, 3}, MLUOP_LAYOUT_NTC))(call);
  set_desc("dist2", Descriptor(MLUOP_DTYPE_FLOAT, {2, 64, 3}, MLUOP_LAYOUT_NLC))(call);
  set_desc("idx", Descriptor(MLUOP_DTYPE_INT32, {2, 64, 3}, MLUOP_LAYOUT_NCHW))(call);
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(Oracle(made).agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
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

// Requirements of mluOpOmpKnn and its workspace query on k and sizes.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "knn";

TEST(OpsKnnErrors, ScalarsAndSizes) {
  // xyz is [2, 300, 3], new_xyz is [2, 40, 3], idx and dist2 are [2, 40, 16].
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {});
  expect_errors(made,
                {{set("k", 0), "k is 0, expected 1 to 100"},
                 {set("k", -1), "k is -1, expected 1 to 100"},
                 {set("k", 101), "k is 101, expected 1 to 100"},
                 {set_shape("xyz", {2, int64_t{1} << 31, 3}), "xyz dim 1 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
  expect_errors(made, {{set("k", 15), "idx dim 2 is 16, expected 15"}}, {.query = Query::kSucceeds});
}

// Without centers the call reads no data.
TEST(OpsKnnErrors, NothingToDo) {
  for (const char* size : {"b", "m"}) {
    const Handle handle;
    OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{size, 0}}));
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    for (const char* id : {"xyz", "new_xyz", "idx", "dist2"}) call[id].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    set("k", 0)(call);
    EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  }
}

TEST(OpsKnnErrors, NoPoints) {
  const Handle handle;
  OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 1}, {"n", 0}, {"k", 2}}));
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  call["xyz"].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("idx"), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(call.floats("dist2"), (std::vector<float>{1e10F, 1e10F}));
}

}  // namespace
}  // namespace mluop::test

// Requirements of mluOpOmpUniqueRows and mluOpOmpUnionRows on sizes, and calls without rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTooMany = int64_t{1} << 31;

TEST(OpsUniqueRowsErrors, Sizes) {
  // rows is [60, 4].
  expect_errors(make_case("unique_rows", MLUOP_DTYPE_INT32, {}),
                {{set_shape("rows", {60, 0}), "rows dim 1 is 0, expected 1 to 8"},
                 {all_of({set_shape("rows", {20, 9}), set_shape("first", {20}), set_shape("inverse", {20})}),
                  "rows dim 1 is 9, expected 1 to 8"},
                 {set_shape("rows", {kTooMany, 4}), "rows dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
}

TEST(OpsUnionRowsErrors, Sizes) {
  // a is [60, 4], b is [40, 4].
  expect_errors(make_case("union_rows", MLUOP_DTYPE_INT32, {}),
                {{all_of({set_shape("a", {60, 0}), set_shape("b", {40, 0}), set_shape("rows", {100, 0})}),
                  "a dim 1 is 0, expected 1 to 8"},
                 {all_of({set_shape("a", {20, 9}), set_shape("b", {15, 9}), set_shape("rows", {35, 9}),
                          set_shape("index_a", {20}), set_shape("index_b", {15})}),
                  "a dim 1 is 9, expected 1 to 8"},
                 {set_shape("b", {40, 3}), "b dim 1 is 3, expected 4"},
                 {set_shape("a", {kTooMany, 4}), "a dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED},
                 {set_shape("b", {kTooMany, 4}), "b dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED},
                 {set_shape("b", {kTooMany - 60, 4}),
                  "a dim 0 plus b dim 0 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
}

TEST(OpsUniqueRowsErrors, NoRows) {
  const Handle handle;
  OperatorCall call(handle, make_case("unique_rows", MLUOP_DTYPE_INT32, {{"n", 0}}));
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* id : {"rows", "first", "inverse"}) call[id].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.int32s("num"), ElementsAre(0));
}

TEST(OpsUnionRowsErrors, NoRows) {
  const Handle handle;
  OperatorCall call(handle, make_case("union_rows", MLUOP_DTYPE_INT32, {{"n", 0}, {"m", 0}}));
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* id : {"a", "b", "rows", "index_a", "index_b"}) call[id].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.int32s("num"), ElementsAre(0));
}

}  // namespace
}  // namespace mluop::test

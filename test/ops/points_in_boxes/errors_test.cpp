// Requirements of the operators of points in boxes on their sizes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kFirst = "points_in_boxes";
constexpr const char* kPart = "points_in_boxes_part";
constexpr const char* kAll = "points_in_boxes_all";

TEST(OpsPointsInBoxesErrors, BoxCount) {
  for (const char* op : {kFirst, kPart, kAll}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set_shape("boxes", {2, int64_t{1} << 31, 7}),
                    "boxes dim 1 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}});
  }
}

// The output has no elements or does not change: the call reads no data.
TEST(OpsPointsInBoxesErrors, NothingToDo) {
  for (const char* op : {kFirst, kPart, kAll}) {
    for (const char* size : {"b", "m", "t"}) {
      if (op == kPart && *size == 't') continue;
      SCOPED_TRACE(std::string(op) + ' ' + size);
      const Handle handle;
      OperatorCall call(handle, make_case(op, MLUOP_DTYPE_FLOAT, {{size, 0}}));
      const auto before = call.contents();
      call["points"].data = call["boxes"].data = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(call.contents() == before);
    }
  }
}

TEST(OpsPointsInBoxesErrors, NoBoxes) {
  const Handle handle;
  OperatorCall call(handle, make_case(kPart, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"m", 3}, {"t", 0}}));
  call["boxes"].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("indices"), (std::vector<int32_t>{-1, -1, -1}));
}

}  // namespace
}  // namespace mluop::test

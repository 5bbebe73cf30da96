// Requirements of mluOpOmpBoxesOverlapBev on its sizes.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "boxes_overlap_bev";

TEST(OpsBoxesOverlapBevErrors, BoxCounts) {
  const auto status = MLUOP_STATUS_NOT_SUPPORTED;
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {}),
                {
                    {set_shape("boxes_a", {int64_t{1} << 31, 7}),
                     "boxes_a dim 0 is 2147483648, expected fewer than 2^31", status},
                    {set_shape("boxes_b", {int64_t{1} << 31, 7}),
                     "boxes_b dim 0 is 2147483648, expected fewer than 2^31", status},
                });
}

// If one tensor has no boxes, the call does not read the other.
TEST(OpsBoxesOverlapBevErrors, NothingToDo) {
  for (const char* size : {"n", "m"}) {
    const Handle handle;
    OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{size, 0}}));
    for (const char* tensor : {"boxes_a", "boxes_b", "overlaps"}) call[tensor].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

}  // namespace
}  // namespace mluop::test

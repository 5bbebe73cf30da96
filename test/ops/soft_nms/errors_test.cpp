// Requirements of mluOpOmpSoftNms and its workspace query on scalars and sizes.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "soft_nms";

TEST(OpsSoftNmsErrors, ScalarsAndSizes) {
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {});
  expect_errors(made, {{set("method", 3),
                        "method is 3, expected MLUOP_OMP_SOFT_NMS_NAIVE (0), MLUOP_OMP_SOFT_NMS_LINEAR (1) or "
                        "MLUOP_OMP_SOFT_NMS_GAUSSIAN (2)"},
                       {set("offset", -1), "offset is -1, expected 0 or 1"},
                       {set("offset", 2), "offset is 2, expected 0 or 1"}});
  expect_errors(made,
                {{set_shape("boxes", {int64_t{1} << 31, 4}), "boxes dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
}

// Without boxes the call writes result_num and reads no data: inputs and workspace may be null.
TEST(OpsSoftNmsErrors, NoBoxes) {
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {{"n", 0}});
  const Handle handle;
  OperatorCall call(handle, made);
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* id : {"boxes", "scores", "dets", "inds"}) call[id].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("result_num"), std::vector<int32_t>{0});
  expect_errors(made, {{set("method", 3),
                        "method is 3, expected MLUOP_OMP_SOFT_NMS_NAIVE (0), MLUOP_OMP_SOFT_NMS_LINEAR (1) or "
                        "MLUOP_OMP_SOFT_NMS_GAUSSIAN (2)"},
                       {[](OperatorCall& of) { of["result_num"].data = nullptr; },
                        "result_num is null, expected the data of a tensor [1]"}});
}

}  // namespace
}  // namespace mluop::test

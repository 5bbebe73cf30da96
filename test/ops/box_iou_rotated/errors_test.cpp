// Requirements of mluOpBoxIouRotated on its parameters and sizes.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "box_iou_rotated";

TEST(OpsBoxIouRotatedErrors, ParametersAndSizes) {
  constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
  constexpr int64_t kMany = int64_t{1} << 31;
  // bbox1 is [40, 5], bbox2 is [30, 5], ious is [40, 30].
  expect_errors(
      make_case(kOp, MLUOP_DTYPE_FLOAT, {}),
      {
          {set("mode", 2), "mode is 2, expected 0 (IoU) or 1 (IoF)"},
          {set("mode", -1), "mode is -1, expected 0 (IoU) or 1 (IoF)"},
          {all_of({with_sizes(kOp, {{"n", 0}}), set("mode", 2)}), "mode is 2, expected 0 (IoU) or 1 (IoF)"},
          {all_of({set("aligned", 1), set_shape("ious", {40})}), "bbox2 dim 0 is 30, expected 40"},
          {set_shape("ious", {40}), "ious has 1 dimensions, expected 2"},
          {set_shape("bbox1", {40, 4}), "bbox1 dim 1 is 4, expected 5"},
          {set_shape("bbox1", {40, 6}), "bbox1 dim 1 is 6, expected 5"},
          {set_shape("bbox2", {30, 4}), "bbox2 dim 1 is 4, expected 5"},
          {set_shape("bbox2", {30, 6}), "bbox2 dim 1 is 6, expected 5"},
          {set_shape("bbox1", {kMany, 5}), "bbox1 dim 0 is 2147483648, expected fewer than 2^31", kNotSupported},
          {set_shape("bbox2", {kMany, 5}), "bbox2 dim 0 is 2147483648, expected fewer than 2^31", kNotSupported},
      });
  // Aligned boxes: both tensors must have the same number of boxes.
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {{"n", 30}}),
                {{set("aligned", 1), "ious has 2 dimensions, expected 1"}});
  expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {{"n", 30}, {"all_pairs", 0}}),
                {{set("aligned", 0), "ious has 1 dimensions, expected 2"}});
}

// Without pairs the call reads no data.
TEST(OpsBoxIouRotatedErrors, NoPairs) {
  for (const int64_t all_pairs : {0, 1}) {
    for (const char* size : {"n", "m"}) {
      const Handle handle;
      OperatorCall call(
          handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{"n", 3}, {"m", 3}, {size, 0}, {"all_pairs", all_pairs}}));
      if (call["ious"].count() > 0) continue;
      for (const char* id : {"bbox1", "bbox2", "ious"}) call[id].data = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    }
  }
}

}  // namespace
}  // namespace mluop::test

// Requirements of mluOpOmpContourExpand and mluOpOmpPixelGroup on labels and sizes; calls without pixels.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
// With a border of one pixel, an image of one row has three times as many pixels.
constexpr int64_t kWide = (int64_t{1} << 31) / 3;

// internal_kernel_label is [2, 3].
TEST(OpsContourExpandErrors, LabelsAndSizes) {
  expect_errors(
      make_case("contour_expand", MLUOP_DTYPE_INT32, {{"h", 2}, {"w", 3}, {"k", 2}, {"kernel_num", 4}}),
      {{set("kernel_num", -1), "kernel_num is -1, expected at least 0"},
       {set("kernel_num", (1 << 24) + 1), "kernel_num is 16777217, expected at most 16777216", kNotSupported},
       {set_element("internal_kernel_label", 5, 5), "internal_kernel_label[1, 2] is 5, expected 0 to 4"},
       {set_element("internal_kernel_label", 3, -1), "internal_kernel_label[1, 0] is -1, expected 0 to 4"},
       {set_shape("internal_kernel_label", {1, kWide}),
        "internal_kernel_label has 2147483652 elements with a border of one pixel, expected fewer than 2^31",
        kNotSupported}});
}

// kernel_label is [2, 3], with three regions.
TEST(OpsPixelGroupErrors, LabelsAndSizes) {
  expect_errors(
      make_case("pixel_group", MLUOP_DTYPE_FLOAT, {{"h", 2}, {"w", 3}, {"r", 3}}),
      {{set_element("kernel_label", 4, 3), "kernel_label[1, 1] is 3, expected less than 3"},
       {set_shape("score", {1, kWide}),
        "score has 2147483652 elements with a border of one pixel, expected fewer than 2^31", kNotSupported}});
}

// Without pixels, the regions have none.
TEST(OpsPixelGroupErrors, NoPixels) {
  for (const char* size : {"h", "w"}) {
    const Handle handle;
    OperatorCall call(handle, make_case("pixel_group", MLUOP_DTYPE_FLOAT, {{"r", 3}, {size, 0}}));
    for (const char* id : {"score", "mask", "embedding", "kernel_label", "kernel_contour"})
      call[id].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s("region_pixels"), std::vector<int32_t>(3));
    EXPECT_EQ(call.floats("region_score"), std::vector<float>(3));
  }
}

}  // namespace
}  // namespace mluop::test

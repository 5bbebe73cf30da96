// Position-sensitive RoI pooling: a worked example, RoIs without pixels, and rules. test/ops/contract_test.cpp has
// the tests of every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

// A RoI with 2 x 2 bins over 4 x 4 pixels, whose channel c is (4 y + x)^2 + 1000 c; spatial_scale is 0.5.
std::vector<float> pooled(const std::vector<float>& roi) {
  cases::Case made = make_case("ps_roi_pool_forward", MLUOP_DTYPE_FLOAT,
                               {{"b", 1}, {"h", 4}, {"w", 4}, {"r", 1}, {"p", 2}, {"output_dim", 1}});
  std::vector<float> pixels;
  for (int i = 0; i < 64; ++i) pixels.push_back(static_cast<float>((i / 4) * (i / 4) + 1000 * (i % 4)));
  set_values(made, "input", pixels);
  set_values(made, "rois", roi);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("mapping_channel"), (std::vector<int32_t>{0, 1, 2, 3}));
  return call.floats("output");
}

TEST(OpsPsRoiPool, Example) {
  EXPECT_EQ(pooled({0, 0.5F, 1.4F, 2.4F, 2.6F}), (std::vector<float>{8, 1013, 2016, 3025}));
}

TEST(OpsPsRoiPool, RoisWithoutPixels) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(pooled({0, 20, 20, 30, 30}), std::vector<float>(4));
  EXPECT_EQ(pooled({0, 0, 0, infinity, 2}), std::vector<float>(4));
  EXPECT_EQ(pooled({0, 0, std::numeric_limits<float>::quiet_NaN(), 2, 2}), std::vector<float>(4));
}

TEST(OpsPsRoiPool, ChannelsOfEveryNumber) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t output_dim : {1, 15, 16, 17}) {
      for (const int64_t r : {0, 1, 40}) {
        SCOPED_TRACE(output_dim);
        for (const char* op : {"ps_roi_pool_forward", "ps_roi_pool_backward"}) {
          expect_oracle(make_case(op, dtype, {{"output_dim", output_dim}, {"r", r}}), Placement::kAgainstEnd);
        }
      }
    }
  }
}

// Channels of the gradient may repeat.
TEST(OpsPsRoiPool, AnyMapping) {
  for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16}) {
    cases::Case made = make_case("ps_roi_pool_backward", dtype, {});
    std::vector<int32_t> mapping = int32s_of(made, "mapping_channel");
    for (size_t i = 0; i < mapping.size(); ++i) mapping[i] = static_cast<int32_t>(i * i % 45);
    set_values(made, "mapping_channel", mapping);
    expect_oracle(made);
  }
}

TEST(OpsPsRoiPoolErrors, Parameters) {
  for (const char* op : {"ps_roi_pool_forward", "ps_roi_pool_backward"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set("pooled_height", 0), op[12] == 'f' ? "group_size is 3, expected pooled_height, 0"
                                                           : "pooled_height is 0, expected at least 1"},
                   {set("pooled_width", 2), "pooled_width is 2, expected pooled_height, 3"},
                   {set("output_dim", 0), "output_dim is 0, expected at least 1"}});
  }
  cases::Case made = make_case("ps_roi_pool_backward", MLUOP_DTYPE_FLOAT, {});
  std::vector<int32_t> mapping = int32s_of(made, "mapping_channel");
  mapping[45 + 3 * 5 + 2] = 45;
  set_values(made, "mapping_channel", mapping);
  expect_errors(made, {{no_change, "mapping_channel[1, 1, 0, 2] is 45, expected 0 to 44"}});
}

}  // namespace
}  // namespace mluop::test

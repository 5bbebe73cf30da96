// Precise RoI pooling: the worked examples, RoIs at the border of the image, and the gradient of coordinates.
// test/ops/contract_test.cpp has the tests of every operator.
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

// A RoI with 1 x `pw` bins over 4 x 4 pixels: (4 y + x)^2, or ones.
cases::Case make_example(const char* op, const std::vector<float>& roi, int64_t pw, bool ones) {
  cases::Case made =
      make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"c", 1}, {"h", 4}, {"w", 4}, {"r", 1}, {"ph", 1}, {"pw", pw}});
  made.parameters.set_real("spatial_scale", 1);
  std::vector<float> pixels;
  for (int i = 0; i < 16; ++i) pixels.push_back(ones ? 1 : static_cast<float>(i * i));
  set_values(made, "input", pixels);
  set_values(made, "rois", roi);
  return made;
}

std::vector<float> result_of(const cases::Case& made, const char* id) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(id);
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-5F);
}

TEST(OpsPrroiPool, Example) {
  const std::vector<float> roi = {0, 0.25F, 0.5F, 2.75F, 2}, means = {40.49166667F, 56.74166667F};
  expect_near(result_of(make_example("prroi_pool_forward", roi, 2, false), "output"), means);
  cases::Case made = make_example("prroi_pool_coor_backward", roi, 2, false);
  set_values(made, "output", means);
  set_values(made, "grad_output", std::vector<float>{1, 1});
  expect_near(result_of(made, "grad_rois"), {0, 12.16F, 42.22222222F, 13.84F, 56.44444444F});
}

// The interpolated image falls to 0 within a pixel outside; RoIs without area are 0.
TEST(OpsPrroiPool, BordersAndAreas) {
  const auto mean = [](const std::vector<float>& roi) {
    return result_of(make_example("prroi_pool_forward", roi, 1, true), "output")[0];
  };
  EXPECT_EQ(mean({0, 3, 0, 4, 1}), 0.5F);
  EXPECT_EQ(mean({0, -1, 0, 0, 1}), 0.5F);
  EXPECT_EQ(mean({0, 4, 4, 5, 5}), 0);
  EXPECT_EQ(mean({0, 1, 1, 1, 3}), 0);
  EXPECT_EQ(mean({0, 2, 1, 1, 3}), 0);
  EXPECT_EQ(mean({0, 0, 0, std::numeric_limits<float>::infinity(), 3}), 0);
  EXPECT_EQ(mean({0, 0, 0, std::numeric_limits<float>::quiet_NaN(), 3}), 0);
  EXPECT_EQ(mean({0, -1e6F, -1e6F, -1e5F, -1e5F}), 0);
}

TEST(OpsPrroiPool, ChannelsAndRoisOfEveryNumber) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t c : {1, 15, 16, 17, 40}) {
      for (const int64_t r : {0, 1, 30}) {
        SCOPED_TRACE(std::to_string(c) + " channels, RoIs: " + std::to_string(r));
        for (const char* op : {"prroi_pool_forward", "prroi_pool_backward", "prroi_pool_coor_backward"}) {
          expect_oracle(make_case(op, dtype, {{"c", c}, {"r", r}}), Placement::kAgainstEnd);
        }
      }
    }
  }
}

TEST(OpsPrroiPoolErrors, Images) {
  for (const char* op : {"prroi_pool_forward", "prroi_pool_backward", "prroi_pool_coor_backward"}) {
    cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 2}, {"r", 2}});
    std::vector<float> rois = floats_of(made, "rois");
    rois[5] = -1;
    set_values(made, "rois", rois);
    expect_errors(made, {{no_change, "rois[1, 0] is -1, expected 0 to 1"}});
  }
}

}  // namespace
}  // namespace mluop::test

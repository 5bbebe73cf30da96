// RoI align of rotated RoIs, with and without orientations: worked examples, and RoIs that the kernels
// distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr auto kPi = static_cast<float>(M_PI);

// Map elements (4 y + x)^2 of 4 x 4 pixels, times 1 to `channels`.
std::vector<float> squares(int channels) {
  std::vector<float> map;
  for (int i = 0; i < 16; ++i) {
    for (int c = 1; c <= channels; ++c) map.push_back(static_cast<float>(i * i * c));
  }
  return map;
}

// A case of one RoI on 4 x 4 pixels, not aligned, with scale 1, unless flags is set later.
cases::Case one_roi(const char* op, const std::vector<float>& roi, std::map<std::string, int64_t> sizes) {
  sizes.insert({{"b", 1}, {"c", 1}, {"h", 4}, {"w", 4}, {"r", 1}, {"flags", 0}});
  cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, sizes);
  set_values(made, "rois", roi);
  return made;
}

void expect_near(const cases::Case& made, const char* output, const std::vector<float>& expected) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const std::vector<float> found = call.floats(output);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-5 * (1 + expected[i])) << i;
}

TEST(OpsRoiAlignRotated, Examples) {
  const std::vector<float> roi = {0, 1.8F, 1.5F, 2.4F, 1.2F, kPi / 6};
  const struct {
    int64_t ratio, clockwise;
    std::vector<float> expected;
  } kRows[] = {{2, 0, {25.48925490F, 15.69992360F, 55.36728598F, 36.30266888F}},
               {2, 1, {11.67386830F, 40.60925120F, 22.97920977F, 66.94987847F}},
               {0, 0, {25.25054310F, 15.61976989F, 55.28934369F, 36.06395708F}}};
  for (const auto& [ratio, clockwise, expected] : kRows) {
    cases::Case made = one_roi("roi_align_rotated_forward", roi, {{"ph", 2}, {"pw", 2}, {"ratio", ratio}});
    made.parameters.set("aligned", 1);
    made.parameters.set("clockwise", clockwise);
    set_values(made, "features", squares(1));
    expect_near(made, "output", expected);
  }
}

TEST(OpsRoiAlignRotated, GradientExample) {
  cases::Case made =
      one_roi("roi_align_rotated_backward", {0, 1, 1, 2, 2, 0}, {{"h", 2}, {"w", 2}, {"ph", 1}, {"pw", 1}});
  set_values(made, "rois", std::vector<float>{0, 0, 0, 1, 1, 0});
  set_values(made, "top_grad", std::vector<float>{1});
  expect_near(made, "bottom_grad", {0.765625F, 0.109375F, 0.109375F, 0.015625F});
}

// Row 1 is the high row of a sample above row 0, with a weight of 0: NaN, in whichever band of rows it is.
TEST(OpsRoiAlignRotated, InfiniteGradientAboveTheMap) {
  cases::Case made =
      one_roi("roi_align_rotated_backward", {0, 1, -0.5F, 1, 1, 0}, {{"c", 1024}, {"ph", 1}, {"pw", 1}});
  set_values(made, "top_grad", std::vector<float>(1024, INFINITY));
  expect_oracle_everywhere(made);
}

TEST(OpsRiroiAlignRotated, Examples) {
  for (const auto& [angle, expected] :
       {std::pair{kPi / 6, std::vector{84.81495458F, 148.42617051F, 212.03738644F, 190.83364780F}},
        std::pair{-kPi / 6, std::vector{169.62990915F, 233.24112508F, 127.22243186F, 106.01869322F}}}) {
    cases::Case made = one_roi("riroi_align_rotated_forward", {0, 1.5F, 1.5F, 2, 2, angle},
                               {{"ph", 1}, {"pw", 1}, {"orientations", 4}});
    set_values(made, "features", squares(4));
    expect_near(made, "output", expected);
  }
}

// Angles of several turns, which a remainder of C would take to a negative orientation.
TEST(OpsRiroiAlignRotated, AnglesOfSeveralTurns) {
  for (const float angle : {0.0F, kPi / 2, -2 * kPi - 0.1F, 7.0F, 1e4F, -1e4F}) {
    for (const int64_t orientations : {1, 4}) {
      for (const char* op : {"riroi_align_rotated_forward", "riroi_align_rotated_backward"}) {
        expect_oracle(one_roi(op, {0, 1.5F, 1.5F, 2, 2, angle}, {{"orientations", orientations}}));
      }
    }
  }
}

// Sizes without samples, mirrored samples, and a grid of 10^11 samples, of which few lie on the map.
TEST(OpsRoiAlignRotated, SizesOfRois) {
  cases::Case made = one_roi("roi_align_rotated_forward", {0, 1.5F, 1.5F, 0, 2, 0}, {{"ph", 1}, {"pw", 1}});
  made.parameters.set("aligned", 1);
  set_values(made, "features", squares(1));
  made.parameters.set("sample_ratio", 0);
  expect_near(made, "output", {0});
  for (const float size : {-2.0F, HUGE_VALF, NAN}) {
    set_values(made, "rois", std::vector<float>{0, 1.5F, 1.5F, size, 2, 0});
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(call.floats("output"), std::vector<float>{0});
  }
  made.parameters.set("sample_ratio", 2);
  set_values(made, "rois", std::vector<float>{0, 1.5F, 1.5F, -2, 2, 0.5F});
  expect_oracle(made);
  made.parameters.set("sample_ratio", 0);
  set_values(made, "rois", std::vector<float>{0, 2, 2, 1 << 18, 1 << 18, 0.5F});
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  // 24 of the samples lie on the map.
  EXPECT_NEAR(call.floats("output")[0] * 0x1p36F, 1912.367, 0.01);
}

// Without an angle, orientations do not move.
TEST(OpsRoiAlignRotated, AnglesThatAreNotFinite) {
  for (const char* op : {"riroi_align_rotated_forward", "riroi_align_rotated_backward"}) {
    for (const float angle : {HUGE_VALF, NAN}) {
      expect_oracle(one_roi(op, {0, 1.5F, 1.5F, 2, 2, angle}, {{"ph", 1}, {"pw", 1}}));
    }
  }
}

TEST(OpsRoiAlignRotatedErrors, Parameters) {
  for (const char* op : {"roi_align_rotated_forward", "roi_align_rotated_backward"}) {
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set("pooled_height", 0), "pooled_height is 0, expected at least 1"},
         {set("sample_ratio", -1), "sample_ratio is -1, expected at least 0"},
         {set("sample_ratio", 65), "sample_ratio is 65, expected at most 64", MLUOP_STATUS_NOT_SUPPORTED}});
  }
}

}  // namespace
}  // namespace mluop::test

// RoI crop: worked examples, points at and beyond the border, values that are not finite, and errors.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

// Pixel i of the image of 4 x 4 is the square of i; a grid of 1 x `count` points.
cases::Case make_points(const char* op, const std::vector<float>& grid) {
  cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT,
                               {{"b", 1},
                                {"h", 4},
                                {"w", 4},
                                {"c", 1},
                                {"grids", 1},
                                {"oh", 1},
                                {"ow", static_cast<int64_t>(grid.size() / 2)}});
  set_values(made, "grid", grid);
  if (made.inputs[0].id == "input") {
    std::vector<float> squares;
    for (int i = 0; i < 16; ++i) squares.push_back(static_cast<float>(i * i));
    set_values(made, "input", squares);
  }
  return made;
}

std::vector<float> result_of(const cases::Case& made) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(made.outputs[0].id);
}

TEST(OpsRoiCrop, Example) {
  const std::vector<float> found =
      result_of(make_points("roi_crop_forward", {0, 0.5F, -1, -1, 1.2F, 0, 1, 0, 1, 1}));
  const std::vector<float> expected = {72.25F, 0, 127.75F, 182.5F, 225};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);
}

TEST(OpsRoiCrop, GradientOfAPoint) {
  cases::Case made = make_points("roi_crop_backward", {0, 0.5F, 1, 1, -5, 0});
  set_values(made, "grad_output", std::vector<float>{8, 3, 100});
  EXPECT_EQ(result_of(made), (std::vector<float>{0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 3, 1, 0, 0, 0, 3}));
}

TEST(OpsRoiCrop, CoordinatesThatAreNotFinite) {
  const std::vector<float> grid = {kNan, 0, 0, kNan, kInfinity, 0, 0, -kInfinity, 3e38F, 0};
  EXPECT_EQ(result_of(make_points("roi_crop_forward", grid)), std::vector<float>(5));
  EXPECT_EQ(result_of(make_points("roi_crop_backward", grid)), std::vector<float>(16));
}

// Images of one pixel, or of none.
TEST(OpsRoiCrop, HostileSizes) {
  for (const char* op : {"roi_crop_forward", "roi_crop_backward"}) {
    for (const int64_t extent : {0, 1}) {
      for (const int64_t channels : {1, 15, 16, 17}) {
        expect_oracle(make_case(op, MLUOP_DTYPE_HALF, {{"h", extent}, {"w", 3}, {"c", channels}}));
        expect_oracle(make_case(op, MLUOP_DTYPE_FLOAT, {{"h", 3}, {"w", extent}, {"c", channels}}));
      }
    }
  }
}

TEST(OpsRoiCropErrors, Grids) {
  const auto grids = [](const char* points, int64_t count) {
    return all_of({set_shape("grid", {count, 3, 4, 2}), set_shape(points, {count, 3, 4, 5})});
  };
  const std::string message = "grid dim 0 is 3, expected a multiple of 2, the number of images";
  expect_errors(make_case("roi_crop_forward", MLUOP_DTYPE_FLOAT, {}), {{grids("output", 3), message}});
  expect_errors(make_case("roi_crop_backward", MLUOP_DTYPE_FLOAT, {}), {{grids("grad_output", 3), message}});
  expect_errors(
      make_case("roi_crop_forward", MLUOP_DTYPE_FLOAT, {}),
      {{set_shape("input", {0, 5, 6, 5}), "grid dim 0 is 4, expected a multiple of 0, the number of images"}});
}

}  // namespace
}  // namespace mluop::test

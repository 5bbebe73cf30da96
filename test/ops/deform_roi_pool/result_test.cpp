// Deformable RoI pool: worked examples, gradients of offsets at the border, and errors. test/ops/contract_test.cpp
// has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

const std::vector<float> kRoi = {0, 0.5F, 0.5F, 2.5F, 3}, kMirrored = {0, 3, 3, 1, 1};

// A RoI of one bin on a map of 4 x 4, whose pixel i is the square of i; spatial_scale is 1, gamma 0.1, grad_output
// 1. offset: x and y, or none.
cases::Case make_bin(const char* op, const std::vector<float>& roi, int64_t ratio,
                     const std::vector<float>& offset) {
  std::map<std::string, int64_t> sizes = {
      {"h", 4}, {"w", 4}, {"sampling_ratio", ratio}, {"offset", !offset.empty()}};
  for (const char* one : {"b", "c", "r", "ph", "pw"}) sizes[one] = 1;
  cases::Case made = make_case(op, MLUOP_DTYPE_FLOAT, sizes);
  made.parameters.set_real("spatial_scale", 1);
  made.parameters.set_real("gamma", 0.1);
  std::vector<float> squares;
  for (int i = 0; i < 16; ++i) squares.push_back(static_cast<float>(i * i));
  set_values(made, "input", squares);
  set_values(made, "rois", roi);
  if (!offset.empty()) set_values(made, "offset", offset);
  if (made.inputs[0].id == "grad_output") set_values(made, "grad_output", std::vector<float>{1});
  return made;
}

// Compares with the oracle, and an output with these values.
void expect_result(const cases::Case& made, const char* output, const std::vector<float>& expected) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const std::vector<float> found = call.floats(output);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
}

TEST(OpsDeformRoiPool, Example) {
  expect_result(make_bin("deform_roi_pool_forward", kRoi, 2, {}), "output", {45.5F});
  expect_result(make_bin("deform_roi_pool_forward", kRoi, 2, {0.5F, -0.25F}), "output", {44.15F});
  expect_result(make_bin("deform_roi_pool_backward", kRoi, 2, {0.5F, -0.25F}), "grad_offset", {2.3F, 10.2F});
}

// A RoI of negative size has no samples without a sampling ratio, and mirrored samples with one.
TEST(OpsDeformRoiPool, NegativeSizes) {
  expect_result(make_bin("deform_roi_pool_forward", kMirrored, 0, {}), "output", {0});
  expect_result(make_bin("deform_roi_pool_forward", kMirrored, 2, {}), "output", {60.5F});
  expect_result(make_bin("deform_roi_pool_backward", kMirrored, 0, {1, 1}), "grad_offset", {0, 0});
}

// The sample is at (-0.4, -0.4), where the map is constant; distances to pixels are not clamped.
TEST(OpsDeformRoiPool, GradientsAtTheBorder) {
  expect_result(make_bin("deform_roi_pool_backward", {0, -0.3F, -0.3F, 0.5F, 0.5F}, 1, {0, 0}), "grad_offset",
                {-0.176F, 1.024F});
}

// NaN in the output, no gradient.
TEST(OpsDeformRoiPool, OffsetsThatAreNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Handle handle;
  const OperatorCall call(handle, make_bin("deform_roi_pool_forward", kRoi, 2, {nan, 0}));
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_TRUE(std::isnan(call.floats("output")[0]));
  const cases::Case backward = make_bin("deform_roi_pool_backward", kRoi, 2, {nan, 0});
  expect_result(backward, "grad_input", std::vector<float>(16));
  expect_result(backward, "grad_offset", {0, 0});
}

// No channels: the gradients of offsets are 0.
TEST(OpsDeformRoiPool, NoChannels) {
  for (const int64_t offset : {0, 1}) {
    for (const int64_t r : {0, 3}) {
      expect_oracle(
          make_case("deform_roi_pool_backward", MLUOP_DTYPE_FLOAT, {{"c", 0}, {"offset", offset}, {"r", r}}));
    }
  }
}

// No channels and no RoIs: all tensors but the offsets of R = 0 are null.
TEST(OpsDeformRoiPool, NothingToDo) {
  const cases::Case made = make_case("deform_roi_pool_backward", MLUOP_DTYPE_FLOAT, {{"c", 0}, {"r", 0}});
  const Handle handle;
  OperatorCall call(handle, made);
  const cases::Dims shape = {0, 2, made.parameters.int32("pooled_height"), made.parameters.int32("pooled_width")};
  for (const char* id : {"offset", "grad_offset"}) {
    call.use(id, std::make_shared<Descriptor>(MLUOP_DTYPE_FLOAT, shape, MLUOP_LAYOUT_ARRAY));
  }
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsDeformRoiPoolErrors, Parameters) {
  for (const char* op : {"deform_roi_pool_forward", "deform_roi_pool_backward"}) {
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set("pooled_height", -1), "pooled_height is -1, expected at least 0"},
         {set("pooled_width", -2), "pooled_width is -2, expected at least 0"},
         {set("sampling_ratio", 65), "sampling_ratio is 65, expected at most 64", MLUOP_STATUS_NOT_SUPPORTED},
         {set_element("rois", 5, 2), "rois[1, 0] is 2, expected 0 to 1"},
         {[](OperatorCall& call) { call["offset"].desc = nullptr; }, "offset_desc is null"}});
  }
  expect_errors(
      make_case("deform_roi_pool_forward", MLUOP_DTYPE_FLOAT, {}),
      {{set_shape("input", {2, 0, 11, 5}), "input has 2 images of 0 x 11 pixels, expected at least 1 of 1 x 1"}});
  const auto absent = [](const char* id) {
    return [=](OperatorCall& call) { call[id].desc = nullptr, call[id].data = nullptr; };
  };
  expect_errors(make_case("deform_roi_pool_backward", MLUOP_DTYPE_FLOAT, {}),
                {{absent("offset"), "offset is null, expected both offset and grad_offset, or none"},
                 {absent("grad_offset"), "grad_offset is null, expected both offset and grad_offset, or none"}});
}

}  // namespace
}  // namespace mluop::test
